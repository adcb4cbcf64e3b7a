// Grants credits to this org, or to another one.
import { NumberInput, TextInput } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import { useState } from 'react';
import { type Post, refresh } from '../api/client.ts';
import { WorkForm } from './action.tsx';

interface GrantCreditsProps {
  /** Where credits are granted: `/v1/credits`, or those of an org. */
  readonly path: string;
  readonly onGranted: () => void;
}

export function GrantCredits({ path, onGranted }: GrantCreditsProps) {
  const [amount, setAmount] = useState<number | string>(10);
  const [reason, setReason] = useInputState('');
  const [reference, setReference] = useInputState('');
  const grant = async (post: Post) => {
    await post(path, { amount: Number(amount), reason, ...(reference === '' ? {} : { reference }) });
    await refresh('/v1/account', '/v1/credits', '/v1/orgs');
    onGranted();
  };
  return (
    <WorkForm action="Grant" work={grant}>
      <NumberInput
        label="Dollars"
        value={amount}
        onChange={setAmount}
        min={0}
        decimalScale={9}
        required
        data-autofocus
      />
      <TextInput label="Reason" value={reason} onChange={setReason} required />
      <TextInput
        label="Reference"
        description="What it belongs to, such as an invoice"
        value={reference}
        onChange={setReference}
      />
    </WorkForm>
  );
}
