// Rate limits of a process: the limits, and how much all edges use of them.
import { changeRateLimits, type RateLimits } from '@switchyard/contracts';
import type { Config } from '../config.ts';
import { KeyLimits, type KeyLimitsDeps } from './key-limits.ts';
import type { LimitHooksDeps } from './limit-hooks.ts';
import { SharedUse, type SharedUseDeps } from './shared-use.ts';

type RateLimitsDeps = SharedUseDeps & Omit<KeyLimitsDeps, 'defaults'> & { readonly config: Config };

interface OpenRateLimits extends LimitHooksDeps {
  close(): Promise<void>;
}

export function openRateLimits({ config, keys, orgs, ...deps }: RateLimitsDeps): OpenRateLimits {
  const use = new SharedUse(deps);
  const limits = new KeyLimits({ keys, orgs, defaults: defaultLimits(config) });
  return { limits, use, clock: deps.clock, close: () => use.close() };
}

function defaultLimits(config: Config): RateLimits | null {
  return changeRateLimits(null, {
    requests_per_minute: config.SWITCHYARD_REQUESTS_PER_MINUTE,
    tokens_per_minute: config.SWITCHYARD_TOKENS_PER_MINUTE,
    concurrent_calls: config.SWITCHYARD_CONCURRENT_CALLS,
    concurrent_commands: config.SWITCHYARD_CONCURRENT_COMMANDS,
  });
}
