// The set-up of the tests installs what the local models say they need, and nothing else.
import { expect, test } from 'vitest';
import { LOCAL_MODEL_PACKAGES, LOCAL_MODEL_PROGRAMS } from '../infra/local/src/test-servers.ts';
import { DEBIAN_PACKAGES, PROGRAMS } from '../services/model-router/src/local/programs.ts';

test('the programs and packages of the local models are the ones that are installed', () => {
  expect([...LOCAL_MODEL_PROGRAMS].sort()).toEqual(Object.keys(PROGRAMS).sort());
  expect([...LOCAL_MODEL_PACKAGES].sort()).toEqual([...DEBIAN_PACKAGES].sort());
});
