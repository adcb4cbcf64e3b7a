// The subjects of calls beyond the first frame. Each names its receiver and its sender, by their NATS users, so that a
// user's permissions (permissions.ts) keep it from answering or steering calls that are not its own.
//
// An instance is `<user>.<random>`, two tokens.
import { HOST_SERVICE } from '@switchyard/contracts';

/** The user that serves a subject: of a host's subject the host's, else the service's. */
export function calleeOf(subject: string): string {
  const [service = '', , host = ''] = subject.split('.', 3);
  return service === HOST_SERVICE ? host : service;
}

/**
 * Where a call's replies go, and with `.a` at its end the PubAck of its event. `key` is random: nats-server sends answers to
 * any reply subject that a user names, so only the two ends may know this one.
 */
export const replySubject = (callee: string, caller: string, key: string) => `_C.${callee}.${caller}.${key}`;

/**
 * Whether a message with this reply subject is a call by this instance to this user. What nats-server sends for a user
 * carries no reply subject, or one of its own under `$JS`.
 */
export const isCallTo = (callee: string, caller: string, reply: string) =>
  isInstance(caller) && reply.startsWith(`_C.${callee}.${caller}.`);

/** Whether a name from another process may become part of a subject. */
export const isInstance = (name: unknown): name is string =>
  typeof name === 'string' && /^[\w-]+\.\w+$/.test(name);

/** Every reply to an instance. */
export const repliesTo = (caller: string) => `_C.*.${caller}.>`;

/** The call that a reply subject belongs to: `<caller>.<key>`. */
export const callOfReply = (reply: string) => reply.slice(reply.indexOf('.', '_C.'.length) + 1);

/** Where a caller's frames after the first go: to the instance that took the call. */
export const frameSubject = (instance: string, call: string) => `_S.${instance}.${call}`;

/** To every instance of the user, before the caller knows which one took the call. */
export const frameToAllSubject = (callee: string, call: string) => `_S.all.${callee}.${call}`;

/**
 * The reply subject of messages that are for all and get no reply: heartbeats and uses of rate limits. It shows that their
 * publisher sent them, because nats-server sends nothing with a reply subject that a user chose.
 */
export const FROM_PUBLISHER = '_P';

/** An instance's heartbeats. */
export const beatSubject = (instance: string) => `_HB.${instance}`;

/** What JetStream and micro services answer to an instance. */
export const inboxPrefix = (instance: string) => `_INBOX.${instance}`;
