// Tells whether memory is free that a test should not hold.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects garbage, and returns whether the object is gone. Poll it: a look keeps the object until its turn ends. */
export function isFree(reference: WeakRef<object>): boolean {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return reference.deref() === undefined;
}
