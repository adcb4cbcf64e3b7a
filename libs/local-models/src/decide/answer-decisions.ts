// local/decide: answers questions about a state with probabilities, from its words, numbers and fields.
import { jsonAnswer, type LocalAnswer } from '../local-answer.ts';
import { type LocalRequest, parseRequest } from '../local-request.ts';
import { countTokens } from '../text/tokens.ts';
import { Turns } from '../turns.ts';
import { type Answer, answerQuestion } from './answer-question.ts';
import { factsOf } from './facts.ts';
import { localDecisionsRequest } from './question.ts';

const DECIDE_MODEL_ID = 'local/decide';

export async function answerDecisions({ body, signal }: LocalRequest): Promise<LocalAnswer> {
  const { state, questions } = parseRequest(localDecisionsRequest, body);
  const turns = new Turns(signal);
  const facts = factsOf(state);
  const answers: [string, Answer][] = [];
  for (const [name, question] of Object.entries(questions)) {
    answers.push([name, await answerQuestion(facts, question, turns)]);
    if (turns.over) await turns.next();
  }
  const asked = (body as { questions: unknown }).questions;
  const inputTokens = countTokens(typeof state === 'string' ? state : JSON.stringify(state));
  return jsonAnswer({
    model: DECIDE_MODEL_ID,
    answers: Object.fromEntries(answers),
    usage: {
      inputTokens: inputTokens + countTokens(JSON.stringify(asked)),
      outputTokens: countTokens(JSON.stringify(Object.fromEntries(answers))),
    },
  });
}
