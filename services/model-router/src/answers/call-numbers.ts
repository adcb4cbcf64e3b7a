// Numbers the tool calls of one choice of a stream. Ollama gives all parallel calls the index 0, each with an id of its own;
// OpenAI gives each an index of its own, which is its number.

/** The piece of a tool call; its first piece has the id and the name. */
export interface CallPiece {
  index?: number;
  id?: string;
  function?: { name?: string } | null;
}

export class CallNumbers {
  readonly #taken = new Set<number>();
  /** Above all numbers so far. */
  #next = 0;
  /** The latest call of each index. */
  readonly #latest = new Map<number, { number: number; id: string }>();

  /** A piece with a name and another id begins a call; other pieces continue the latest call of their index. */
  numberOf({ index = 0, id = '', function: called }: CallPiece): number {
    const latest = this.#latest.get(index);
    if (latest && (!called?.name || id === '' || id === latest.id)) return latest.number;
    const number = this.#taken.has(index) ? this.#next : index;
    this.#taken.add(number);
    this.#next = Math.max(this.#next, number + 1);
    this.#latest.set(index, { number, id });
    return number;
  }
}
