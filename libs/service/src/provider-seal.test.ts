import { expect, test } from 'vitest';
import { KeyLocked, ProviderSeal } from './provider-seal.ts';

const SECRET = 'a secret of 32 characters or more';
const seal = new ProviderSeal(SECRET);

test('a key opens under the secret and the variable that sealed it, and under no other', () => {
  const sealed = seal.seal('ACME_API_KEY', 'sk-of-acme');
  expect(new ProviderSeal(SECRET).open('ACME_API_KEY', sealed)).toBe('sk-of-acme');
  expect(() => seal.open('OTHER_API_KEY', sealed)).toThrow(KeyLocked);
  expect(() => new ProviderSeal(`${SECRET}!`).open('ACME_API_KEY', sealed)).toThrow(KeyLocked);
});

test('sealing a key twice gives different texts, and none contains the key', () => {
  const [one, other] = [seal.seal('ACME_API_KEY', 'sk-of-acme'), seal.seal('ACME_API_KEY', 'sk-of-acme')];
  expect(one.data).not.toBe(other.data);
  expect(Buffer.from(one.data, 'base64').toString('latin1')).not.toContain('acme');
});

test('a changed byte or a shortened tag opens nothing', () => {
  const sealed = seal.seal('ACME_API_KEY', 'sk-of-acme');
  const changed = Buffer.from(sealed.data, 'base64');
  changed[0]! ^= 1;
  expect(() => seal.open('ACME_API_KEY', { ...sealed, data: changed.toString('base64') })).toThrow(KeyLocked);
  const tag = Buffer.from(sealed.tag, 'base64').subarray(0, 4).toString('base64');
  expect(() => seal.open('ACME_API_KEY', { ...sealed, tag })).toThrow(KeyLocked);
});

test('without a secret nothing is sealed or opened, and the error names the setting', () => {
  const none = new ProviderSeal(undefined);
  expect(() => none.seal('ACME_API_KEY', 'sk-of-acme')).toThrow(/SWITCHYARD_PROVIDERS_SECRET is not set/);
  expect(() => none.open('ACME_API_KEY', seal.seal('ACME_API_KEY', 'x'))).toThrow(KeyLocked);
});
