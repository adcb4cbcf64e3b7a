// Reads server-sent events from an answer. Lines end in LF, or in CRLF as many makers of models send them.
interface ServerSentEvent {
  readonly id: string | null;
  readonly event: string | null;
  /** Empty for an event that only has an id. */
  readonly data: string;
}

export async function* serverEvents(answer: Response): AsyncGenerator<ServerSentEvent> {
  let rest = '';
  const reader = (answer.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream() as never)
    .getReader();
  try {
    while (true) {
      const { done, value } = (await reader.read()) as ReadableStreamReadResult<string>;
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? '';
      for (const block of blocks) yield parse(block);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parse(block: string): ServerSentEvent {
  const event: { id: string | null; event: string | null; data: string[] } = {
    id: null,
    event: null,
    data: [],
  };
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(':');
    const [field, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')];
    if (field === 'data') event.data.push(value);
    else if (field === 'id' || field === 'event') event[field] = value;
  }
  return { ...event, data: event.data.join('\n') };
}
