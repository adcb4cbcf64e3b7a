// Grants credits to this org, or to another one.
import { Button, NumberInput, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { call, refresh } from '../api/client.ts';
import { useWork } from './action.tsx';
import { Failure } from './state.tsx';

interface GrantCreditsProps {
  /** Where credits are granted: `/v1/credits`, or those of an org. */
  readonly path: string;
  readonly onGranted: () => void;
}

export function GrantCredits({ path, onGranted }: GrantCreditsProps) {
  const [amount, setAmount] = useState<number | string>(10);
  const [reason, setReason] = useState('');
  const work = useWork();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const granted = await work.run(() => call(path, { body: { amount: Number(amount), reason } }));
    if (!granted) return;
    await refresh('/v1/account', '/v1/credits');
    onGranted();
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <NumberInput
          label="Dollars"
          value={amount}
          onChange={setAmount}
          min={0}
          decimalScale={9}
          required
          data-autofocus
        />
        <TextInput
          label="Reason"
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          required
        />
        {work.error && <Failure error={work.error} />}
        <Button type="submit" loading={work.busy}>
          Grant
        </Button>
      </Stack>
    </form>
  );
}
