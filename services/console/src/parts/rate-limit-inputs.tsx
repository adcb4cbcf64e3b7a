// The rate limits of a key or an org, in a form.
import { NumberInput, SimpleGrid } from '@mantine/core';
import { RATE_LIMIT_KINDS } from '@switchyard/contracts';

/** By kind; null or absent: no limit. */
export type RateLimitFields = Record<string, number | string | null>;

interface RateLimitInputsProps {
  readonly limits: RateLimitFields;
  readonly onChange: (limits: RateLimitFields) => void;
}

export function RateLimitInputs({ limits, onChange }: RateLimitInputsProps) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
      {RATE_LIMIT_KINDS.map((kind) => (
        <NumberInput
          key={kind}
          label={labelOf(kind)}
          placeholder="no limit"
          value={limits[kind] ?? ''}
          onChange={(count) => onChange({ ...limits, [kind]: count === '' ? null : count })}
          min={1}
          allowDecimal={false}
        />
      ))}
    </SimpleGrid>
  );
}

function labelOf(kind: string): string {
  const words = kind.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
