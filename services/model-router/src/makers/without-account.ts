// Removes identifiers of our account from an upstream's error message, since callers read it and the account is the
// operator's. Pure; the operator's own log keeps the whole text.

/** Characters of an upstream's message that callers see. */
const MESSAGE_LENGTH_MAX = 1_000;
/** Characters that are read of it; more than are shown, so that no account id is cut before it is redacted. */
const WORDS_LENGTH_MAX = 2 * MESSAGE_LENGTH_MAX;
const REDACTED = '[redacted]';

/** Words that makers write before an identifier. */
const NAMED =
  '\\b(?:organi[sz]ation|org|project|account|subscription|tenant|workspace|customer|team|directory|consumer|application|resource ?group)' +
  '(?:[ _-](?:id|number|name|with identifier))?';

/** Patterns and their replacements. The order matters: a later pattern sees the result of the earlier ones. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  // E-mail addresses, service accounts among them.
  [/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, REDACTED],
  // API keys, whole or masked with asterisks, and tokens.
  [/\b(?:sk|pk|rk|gsk|csk|xai|pplx|hf|r8|nvapi|tgp)[-_][\w.*-]{3,}/g, REDACTED],
  [/\b(?:AIza[\w*-]{6,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|ya29\.[\w.-]+|eyJ[\w-]{8,}\.[\w.-]+)/g, REDACTED],
  [
    /\b(api[ _-]?key(?: provided)?\s*[:=]\s*|access[ _-]?token\s*[:=]\s*|secret\s*[:=]\s*)[^\s,;)]+/gi,
    `$1${REDACTED}`,
  ],
  [/\b(bearer\s+)(?=\S*\d)[^\s'"`,;)]{8,}/gi, `$1${REDACTED}`],
  // Resource names in clouds: AWS, Google Cloud, Azure.
  [/\barn:[\w-]+:[^\s'"`,)]+/g, REDACTED],
  [
    /\b(projects|organizations|folders|subscriptions|resourceGroups|accounts|tenants|workspaces|teams|billingAccounts)\/[^\s/'"`,?&)]+/gi,
    `$1/${REDACTED}`,
  ],
  [/([?&](?:project|organization|org|account|team|key)=)[^\s&'"`)]+/gi, `$1${REDACTED}`],
  [/\b[\w-]+(?=\.(?:openai|cognitiveservices|services\.ai)\.azure\.com\b)/gi, REDACTED],
  // Identifiers with their own prefix: org-…, proj_…, user-….
  [
    /\b(?:org|proj|user|acct|cus|team|wrkspc|apikey|svcacct|gen-lang-client)[-_](?=[\w-]*\d|[\w-]{16})[\w-]+/g,
    REDACTED,
  ],
  // A value after its name: quoted, after a colon, or with digits in it.
  [new RegExp(`(${NAMED}\\s*[:=]?\\s*\\(?)(['"\`])[^'"\`]{1,200}\\2`, 'gi'), `$1$2${REDACTED}$2`],
  [new RegExp(`(${NAMED}\\s*[:=]\\s*)[\\w*.:-]+(?=[,;)\\]}]|\\.?\\s*$)`, 'gi'), `$1${REDACTED}`],
  [new RegExp(`(${NAMED}\\s*[:=]\\s*)(?=[\\w*.:-]*[\\d_-])[\\w*:-]+`, 'gi'), `$1${REDACTED}`],
  [
    new RegExp(`(${NAMED}\\s+\\(?)(?:\\d{5,}|(?=[\\w*-]*\\d)(?=[\\w*-]*[a-z])[\\w*-]+)`, 'gi'),
    `$1${REDACTED}`,
  ],
  // Any other UUID, except the maker's request id.
  [
    /(?<!request[ _-]?id['"`]?\s*[:=]?\s*['"`]?)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
    REDACTED,
  ],
];

/** Removes account, organization and project ids, API keys and e-mail addresses from an upstream's words. */
export function withoutAccount(words: string): string {
  return PATTERNS.reduce((text, [pattern, stays]) => text.replace(pattern, stays), words);
}

export interface ShownMessage {
  /** Message for callers, without identifiers of our account. */
  message: string;
  /** The original message when it names our account; for the operator's log only. */
  said?: string;
}

/** Redacts our account from an upstream's message and shortens it. */
export function messageForCallers(said: string): ShownMessage {
  const words = said.slice(0, WORDS_LENGTH_MAX);
  const clean = withoutAccount(words);
  const message = clean.slice(0, MESSAGE_LENGTH_MAX);
  return clean === words ? { message } : { message, said: words };
}
