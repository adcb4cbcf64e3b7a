import type { KeyRecord } from '@switchyard/contracts';
import { expect, test } from 'vitest';
import { KeysById } from './keys-by-id.ts';

type OnChange = (hash: string, record: KeyRecord | null, previous: KeyRecord | null) => void;

function mirror() {
  let tell: OnChange = () => {};
  const records = new Map<string, KeyRecord>();
  const keys = new KeysById({
    entries: () => [],
    onChange: (listener: OnChange) => {
      tell = listener;
      return () => {};
    },
  } as unknown as ConstructorParameters<typeof KeysById>[0]);
  const change = (hash: string, record: KeyRecord | null) => {
    const previous = records.get(hash) ?? null;
    if (record) records.set(hash, record);
    else records.delete(hash);
    tell(hash, record, previous);
  };
  return { keys, change };
}

const limited = { id: 'key_a', org: 'org_a', limit: { amount: 1, interval: 'day' } } as unknown as KeyRecord;
const rotated = (rotation: number) => ({ ...limited, rotation });

test('a key keeps its limit when the second of two rotations at once is taken back', () => {
  const { keys, change } = mirror();
  change('first', limited);
  change('second', rotated(1));
  change('third', rotated(1));
  change('first', { ...limited, successor: 'second' });
  change('third', null);
  expect(keys.get('org_a', 'key_a')).toEqual(rotated(1));
});

test('the record of the latest rotation counts, whatever arrives last', () => {
  const { keys, change } = mirror();
  change('second', rotated(1));
  change('first', limited);
  expect(keys.get('org_a', 'key_a')).toEqual(rotated(1));
  expect(keys.get('org_b', 'key_a')).toBeNull();
});

test('a deleted key is gone with all its secrets', () => {
  const { keys, change } = mirror();
  change('first', limited);
  change('second', rotated(1));
  change('first', null);
  change('second', null);
  expect(keys.get('org_a', 'key_a')).toBeNull();
});
