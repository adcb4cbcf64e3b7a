// Numbers the tool calls of a stream. Ollama gives all parallel calls the index 0, each with an id of its own; OpenAI gives
// each an index of its own.
import type { ChatToolCallPiece } from './chat-shapes.ts';

export class CallNumbers {
  #next = 0;
  /** The latest call of each index. */
  readonly #latest = new Map<number, { number: number; id: string }>();

  /** A piece with a name and another id begins a call; other pieces continue the latest call of their index. */
  numberOf({ index = 0, id = '', function: called }: ChatToolCallPiece): number {
    const latest = this.#latest.get(index);
    if (latest && (!called?.name || id === '' || id === latest.id)) return latest.number;
    const number = this.#next++;
    this.#latest.set(index, { number, id });
    return number;
  }
}
