// `extra_content`: what a maker needs back unchanged with the next turn, by the maker's name. Provider packages have it as
// metadata of a part. The thought signature has Google's spelling, which OpenAI's clients of Gemini read and write.
import type { SharedV4ProviderMetadata } from '@ai-sdk/provider';

const SIGNATURE = { ofPackage: 'thoughtSignature', ofGoogle: 'thought_signature' } as const;

type Members = Readonly<Record<string, unknown>>;

/** Null when the maker needs nothing back. */
export function toExtraContent(
  metadata: SharedV4ProviderMetadata | undefined,
): Record<string, Members> | null {
  const makers = Object.entries(metadata ?? {});
  if (makers.every(([, members]) => Object.keys(members).length === 0)) return null;
  return Object.fromEntries(
    makers.map(([maker, members]) => [maker, renamed(members, SIGNATURE.ofPackage, SIGNATURE.ofGoogle)]),
  );
}

/** The options for this maker's package; undefined when the data is another maker's. */
export function fromExtraContent(
  extra: Readonly<Record<string, Members>> | null | undefined,
  maker: string,
): SharedV4ProviderMetadata | undefined {
  const own = extra?.[maker];
  if (!own) return undefined;
  return { [maker]: renamed(own, SIGNATURE.ofGoogle, SIGNATURE.ofPackage) } as SharedV4ProviderMetadata;
}

function renamed(members: Members, from: string, to: string): Members {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name === from ? to : name, value]),
  );
}
