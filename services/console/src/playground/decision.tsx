// Decisions: each question with its probabilities drawn.
import { JsonInput, Text } from '@mantine/core';
import type { decisionsResult } from '@switchyard/contracts';
import { useState } from 'react';
import { Panel } from '../parts/state.tsx';
import { chancesOf, type DecisionAnswer } from './decision-chances.ts';
import { OneCall, type TypeProps } from './model-trial.tsx';

const STATE = { text: 'The parcel never arrived. I want my money back!', amount: 120 };
const QUESTIONS = {
  large: { type: 'boolean', instructions: 'Is the amount over 100?' },
  team: {
    type: 'choice',
    instructions: 'Who handles it?',
    criteria: { refunds: 'money back', sales: 'an offer' },
  },
  anger: { type: 'score', instructions: 'How angry is it?', criteria: ['calm', 'annoyed', 'furious'] },
};
const pretty = (value: unknown) => JSON.stringify(value, null, 2);

type Decided = (typeof decisionsResult)['_output'];

export default function Decisions({ model }: TypeProps) {
  const [state, setState] = useState(pretty(STATE));
  const [questions, setQuestions] = useState(pretty(QUESTIONS));
  const [body, valid] = bodyOf(model, state, questions);
  return (
    <OneCall
      action="Decide"
      type="decision"
      path="/v1/decisions"
      body={body}
      disabled={!valid}
      read={(answer): Promise<Decided> => answer.json()}
      fields={
        <>
          <JsonInput
            label="Situation"
            value={state}
            onChange={setState}
            autosize
            minRows={3}
            validationError="This is not JSON."
          />
          <JsonInput
            label="Questions"
            value={questions}
            onChange={setQuestions}
            autosize
            minRows={6}
            validationError="This is not JSON."
          />
        </>
      }
    >
      {({ answers }) =>
        Object.entries(answers).map(([name, decision]) => (
          <Answer key={name} name={name} decision={decision} />
        ))
      }
    </OneCall>
  );
}

function Answer({ name, decision }: { name: string; decision: DecisionAnswer }) {
  const verdict = Object.entries(decision).filter(([, value]) => typeof value !== 'object');
  return (
    <Panel title={name}>
      <Text size="sm">{verdict.map(([field, value]) => `${field}: ${value}`).join(', ')}</Text>
      {Object.entries(chancesOf(decision)).map(([option, chance]) => (
        <div key={option}>
          <Text size="sm">
            {option}: {(chance * 100).toFixed(1)} %
          </Text>
          <div className="bar" style={{ width: `${Math.max(0, Math.min(1, chance)) * 100}%` }} />
        </div>
      ))}
    </Panel>
  );
}

function bodyOf(
  model: string,
  state: string,
  questions: string,
): [body: Record<string, unknown>, valid: boolean] {
  try {
    return [{ model, state: JSON.parse(state), questions: JSON.parse(questions) }, true];
  } catch {
    return [{ model }, false];
  }
}
