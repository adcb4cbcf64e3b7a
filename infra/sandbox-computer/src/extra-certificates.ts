// The certificate authorities that this host trusts in addition to the public ones. In a network that re-signs TLS,
// computers need them too.
import { X509Certificate } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';

/** Folders for administrators' own authorities on Debian and Red Hat systems. */
const LOCAL_AUTHORITIES = [
  '/usr/local/share/ca-certificates/**/*.crt',
  '/etc/pki/ca-trust/source/anchors/**/*',
];
/** The distribution's own copies of public ones. */
const PUBLIC_AUTHORITIES = ['/usr/share/ca-certificates/**/*.crt'];
const BUNDLE_VARIABLES = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'];
const PEM_PATTERN = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** PEM texts, each one certificate, in a stable order. */
export async function findExtraCertificates(env: NodeJS.ProcessEnv): Promise<string[]> {
  const bundles = BUNDLE_VARIABLES.flatMap((name) => env[name] ?? []);
  const [known, local] = await Promise.all([
    readAll(PUBLIC_AUTHORITIES),
    readAll([...LOCAL_AUTHORITIES, ...bundles]),
  ]);
  const seen = new Set([...rootCertificates, ...known].map(fingerprintOf));
  const extra = new Map<string, string>();
  for (const pem of local) {
    const fingerprint = fingerprintOf(pem);
    if (fingerprint !== undefined && !seen.has(fingerprint)) extra.set(fingerprint, pem);
  }
  return [...extra].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pem]) => pem);
}

/** Chromium has a trust store of its own; this policy adds to it. */
export function chromiumPolicy(certificates: readonly string[]): string {
  const bodies = certificates.map((pem) => pem.replace(/-----[^-]+-----|\s/g, ''));
  return `${JSON.stringify({ CACertificates: bodies }, null, 2)}\n`;
}

async function readAll(patterns: readonly string[]): Promise<string[]> {
  const texts: string[] = [];
  for await (const path of glob(patterns)) texts.push(await readFile(path, 'utf8').catch(() => ''));
  return texts.flatMap((text) => text.match(PEM_PATTERN) ?? []);
}

/** Undefined if the text is not a valid certificate. */
function fingerprintOf(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    return undefined;
  }
}
