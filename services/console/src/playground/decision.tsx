// Decisions: each question with its probabilities drawn.
import { JsonInput, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { Panel } from '../parts/state.tsx';
import { Cost, costOf, ModelChoice, ModelTrial, type TypeProps, useRun } from './model-trial.tsx';

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

interface Decided {
  readonly answer: { answers: Record<string, Decision> };
  readonly cost: string | null;
}
type Decision = Record<string, unknown> & { probability?: number; probabilities?: Record<string, number> };

export default function Decisions({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [state, setState] = useState(pretty(STATE));
  const [questions, setQuestions] = useState(pretty(QUESTIONS));
  const run = useRun<Decided>();
  const path = '/v1/decisions';
  const [body, valid] = bodyOf(model, state, questions);
  const decide = () =>
    run.start(async (signal) => {
      const answer = await call(path, { body, signal });
      return { answer: (await answer.json()) as Decided['answer'], cost: costOf(answer) };
    });
  return (
    <ModelTrial
      run={run}
      action="Decide"
      onRun={decide}
      type="decision"
      path={path}
      body={body}
      disabled={!valid}
      fields={
        <>
          <ModelChoice models={models} value={model} onChange={setModel} />
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
      {run.result && (
        <Stack gap="xs">
          {Object.entries(run.result.answer.answers).map(([name, decision]) => (
            <Answer key={name} name={name} decision={decision} />
          ))}
          <Cost of={run.result.cost} />
        </Stack>
      )}
    </ModelTrial>
  );
}

function Answer({ name, decision }: { name: string; decision: Decision }) {
  const { probability } = decision;
  const chances =
    decision.probabilities ??
    (probability === undefined ? {} : { true: probability, false: 1 - probability });
  const verdict = Object.entries(decision).filter(([, value]) => typeof value !== 'object');
  return (
    <Panel title={name}>
      <Text size="sm">{verdict.map(([field, value]) => `${field}: ${value}`).join(', ')}</Text>
      {Object.entries(chances).map(([option, chance]) => (
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
