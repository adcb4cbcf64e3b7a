// Reports the step of each exec between the agent and the init of its computer, by the frames on their socket:
//   asked: about to be sent to the init     sent: the init has received it, or will     output: its first output arrived
//   ended: its end arrived, and the agent has not read it     received: the init knows that the agent has the result
import { Socket } from 'node:net';

const HEAD_BYTES = 9;
/** Of a request to start: four numbers, then the id. */
const ID_AT = HEAD_BYTES + 16;

type ExecStep = (execId: string, step: 'asked' | 'sent' | 'output' | 'ended' | 'received') => void;

/** From now on, for every socket of this process. */
export function followExecs(tell: ExecStep): void {
  /** By socket and channel. */
  const execs = new WeakMap<Socket, Map<number, string>>();
  const { write, emit } = Socket.prototype;

  Socket.prototype.write = function (this: Socket, ...args: unknown[]): boolean {
    const frame = wholeFrame(args[0]);
    const execId = frame && idOf(this, frame);
    if (execId && frame.type === 'E') tell(execId, 'asked');
    const written = Reflect.apply(write, this, args) as boolean;
    if (execId && frame.type === 'E') tell(execId, 'sent');
    if (execId && frame.type === 'R') tell(execId, 'received');
    return written;
  };
  Socket.prototype.emit = function (this: Socket, ...args: unknown[]): boolean {
    if (args[0] === 'data') tellArrived(this, args[1]);
    return Reflect.apply(emit, this, args) as boolean;
  } as typeof emit;

  function idOf(socket: Socket, { type, channel, bytes }: WholeFrame): string | undefined {
    const known = execs.get(socket) ?? new Map<number, string>();
    if (type !== 'E') return known.get(channel);
    const id = bytes.toString('utf8', ID_AT, bytes.indexOf(0, ID_AT));
    execs.set(socket, known.set(channel, id));
    return id;
  }

  /** What tests let commands write is short: their frames come whole. */
  function tellArrived(socket: Socket, bytes: unknown): void {
    const channels = execs.get(socket);
    if (!channels || !Buffer.isBuffer(bytes)) return;
    for (let at = 0; at + HEAD_BYTES <= bytes.length; at += HEAD_BYTES + bytes.readUInt32LE(at + 5)) {
      const type = String.fromCharCode(bytes[at] ?? 0);
      const execId = channels.get(bytes.readUInt32LE(at + 1));
      if (execId && type === 'O') tell(execId, 'output');
      if (execId && type === 'X') tell(execId, 'ended');
    }
  }
}

interface WholeFrame {
  readonly type: string;
  readonly channel: number;
  readonly bytes: Buffer;
}

/** The frame that is written, if it is one: each is written by itself. */
function wholeFrame(bytes: unknown): WholeFrame | undefined {
  if (!Buffer.isBuffer(bytes) || bytes.length < HEAD_BYTES) return undefined;
  if (bytes.readUInt32LE(5) !== bytes.length - HEAD_BYTES) return undefined;
  return { type: String.fromCharCode(bytes[0] ?? 0), channel: bytes.readUInt32LE(1), bytes };
}
