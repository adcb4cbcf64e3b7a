// What an org has spent, and what is left.
import { SimpleGrid } from '@mantine/core';
import type { AccountObject } from '@switchyard/contracts';
import { dollars, Figure } from './show.tsx';

export function AccountFigures({ account }: { account: AccountObject }) {
  const { billing, balance, spent, held, month } = account;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      <Figure name="This month" hint={month.limit === null ? 'no limit' : `of ${dollars(month.limit)}`}>
        {dollars(month.spent)}
      </Figure>
      <Figure name="Pays">{billing}</Figure>
      <Figure name="Balance" hint={balance === null ? 'pays afterwards' : 'credits left'}>
        {balance === null ? '–' : dollars(balance)}
      </Figure>
      <Figure name="Total spent" hint={held > 0 ? `${dollars(held)} held for running work` : undefined}>
        {dollars(spent)}
      </Figure>
    </SimpleGrid>
  );
}
