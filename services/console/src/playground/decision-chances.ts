// The probabilities of an answer of POST /v1/decisions, as they are drawn.
import type { decisionAnswer } from '@switchyard/contracts';

export type DecisionAnswer = (typeof decisionAnswer)['_output'];

/** Option or level -> its probability. Empty when the model gave only that of its answer. */
export function chancesOf(answer: DecisionAnswer): Record<string, number> {
  switch (answer.type) {
    case 'boolean':
      return { true: answer.probability, false: 1 - answer.probability };
    case 'choice':
    case 'score':
      return answer.probabilities ?? {};
    case 'refusal':
      return {};
    default:
      return answer satisfies never;
  }
}
