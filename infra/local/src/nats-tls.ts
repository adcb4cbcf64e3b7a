/**
 * TLS of nats-server in docker-compose.yml: a certificate authority, made once, and a certificate that it signs.
 * `nats-tls/ca.pem` is what services and hosts trust; the key of the authority stays with the operator.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';
import { SetupError } from './setup-error.ts';

const AUTHORITY_DAYS = 3650;
/** The longest that clients of all kinds accept. */
const CERTIFICATE_DAYS = 825;
const OPENSSL_TIMEOUT_MS = 30_000;
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
/** How the containers and the programs of this host reach the server. */
const OWN_NAMES = ['nats', 'localhost', '127.0.0.1'];

/** What nats-server presents. */
export interface ServerCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

interface NatsTls extends ServerCertificate {
  readonly caFile: string;
}

/** The certificate where docker-compose.yml mounts it. */
export const COMPOSE_CERTIFICATE: ServerCertificate = {
  certFile: '/etc/switchyard/nats-tls/cert.pem',
  keyFile: '/etc/switchyard/nats-tls/key.pem',
};

export function natsTlsFiles(folder: string): NatsTls {
  const at = (name: string) => join(folder, 'nats-tls', name);
  return { caFile: at('ca.pem'), certFile: at('cert.pem'), keyFile: at('key.pem') };
}

/**
 * Makes the authority, unless there is one, and a new certificate.
 * @param names names and addresses of the server for other machines, besides those of the last certificate
 * @throws SetupError without openssl
 */
export async function ensureNatsTls(folder: string, names: readonly string[]): Promise<NatsTls> {
  const files = natsTlsFiles(folder);
  const caKey = join(folder, 'nats-ca-key.pem');
  await mkdir(join(folder, 'nats-tls'), { recursive: true, mode: 0o700 });
  if (!existsSync(files.caFile)) await makeAuthority(files.caFile, caKey);
  const all = new Set([...OWN_NAMES, ...(await publicNames(folder)), ...names]);
  await makeCertificate(files, caKey, [...all]);
  return files;
}

/** The names and addresses in the certificate that are for other machines. */
export async function publicNames(folder: string): Promise<string[]> {
  const { certFile } = natsTlsFiles(folder);
  if (!existsSync(certFile)) return [];
  const { subjectAltName = '' } = new X509Certificate(await readFile(certFile));
  const names = subjectAltName.split(', ').map((name) => name.replace(/^(DNS|IP Address):/, ''));
  return names.filter((name) => !OWN_NAMES.includes(name));
}

async function makeAuthority(caFile: string, caKey: string): Promise<void> {
  const made = `${caFile}.new`;
  const subject = ['-subj', '/CN=Switchyard NATS authority', '-days', String(AUTHORITY_DAYS)];
  await openssl(['req', '-x509', ...NEW_KEY, '-keyout', caKey, '-out', made, ...subject]);
  await chmod(caKey, 0o600);
  await chmod(made, 0o644); // services read it as other users
  await rename(made, caFile);
}

async function makeCertificate(files: NatsTls, caKey: string, names: readonly string[]): Promise<void> {
  const { caFile, certFile, keyFile } = files;
  const [request, extensions] = [`${certFile}.request`, `${certFile}.extensions`];
  const alternatives = names.map((name) => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`);
  await writeFile(extensions, `subjectAltName=${alternatives.join(',')}\nextendedKeyUsage=serverAuth\n`);
  await openssl([
    ...['req', '-new', ...NEW_KEY, '-subj', '/CN=nats-server', '-keyout', `${keyFile}.new`, '-out', request],
  ]);
  const signedBy = ['-CA', caFile, '-CAkey', caKey, '-CAcreateserial', '-days', String(CERTIFICATE_DAYS)];
  const signing = ['x509', '-req', '-in', request, ...signedBy, '-extfile', extensions];
  await openssl([...signing, '-out', `${certFile}.new`]);
  await chmod(`${keyFile}.new`, 0o600);
  await rename(`${keyFile}.new`, keyFile);
  await rename(`${certFile}.new`, certFile);
  await Promise.all([request, extensions].map((file) => rm(file)));
}

async function openssl(args: string[]): Promise<void> {
  try {
    await runCommand('openssl', args, { timeoutMs: OPENSSL_TIMEOUT_MS });
  } catch (cause) {
    throw new SetupError(
      `The NATS certificate could not be created. ${(cause as Error).message}`,
      'Install openssl, and run the command again.',
      { cause },
    );
  }
}
