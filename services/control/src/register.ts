// Control's only wiring list: each operation and the function that serves it.
import type { ServiceHost } from '@switchyard/bus';
import { CREATION_STREAM_SUBJECT, FILE_CONTENT_SUBJECT, FILE_STORE_SUBJECT } from '@switchyard/contracts';
import type { ComputerOperations } from './computers/computer-operations.ts';
import type { FileOperations } from './files/file-operations.ts';
import { createComputer } from './operations/computers-create.ts';
import { streamCreation } from './operations/computers-create-stream.ts';
import { deleteComputer } from './operations/computers-delete.ts';
import { getComputer } from './operations/computers-get.ts';
import { listComputers } from './operations/computers-list.ts';
import { computerOptions } from './operations/computers-options.ts';
import { uploadToComputer } from './operations/computers-upload.ts';
import { sendFile } from './operations/files-content.ts';
import { storeFile } from './operations/files-create.ts';
import { deleteFile } from './operations/files-delete.ts';
import { getFile } from './operations/files-get.ts';
import { listFiles } from './operations/files-list.ts';
import { createKey, type KeyOperations } from './operations/keys-create.ts';
import { deleteKey } from './operations/keys-delete.ts';
import { getKey } from './operations/keys-get.ts';
import { listKeys } from './operations/keys-list.ts';
import { rotateKey } from './operations/keys-rotate.ts';
import { updateKey } from './operations/keys-update.ts';
import { createOrg, type OrgCreateDeps } from './operations/orgs-create.ts';
import { deleteOrg } from './operations/orgs-delete.ts';
import { getOrg } from './operations/orgs-get.ts';
import { createOrgKey } from './operations/orgs-keys-create.ts';
import { listOrgs } from './operations/orgs-list.ts';
import { updateOrg } from './operations/orgs-update.ts';
import { deleteProviderKey } from './operations/providers-delete.ts';
import { setProvider } from './operations/providers-set.ts';
import { getSigningSecret } from './operations/signing-secret-get.ts';
import { rotateOrgSigningSecret } from './operations/signing-secret-rotate.ts';
import { createWebhook } from './operations/webhooks-create.ts';
import { deleteWebhook } from './operations/webhooks-delete.ts';
import { listDeliveries } from './operations/webhooks-deliveries.ts';
import { getWebhook } from './operations/webhooks-get.ts';
import { listWebhooks } from './operations/webhooks-list.ts';
import { rotateWebhook } from './operations/webhooks-rotate.ts';
import { testWebhook } from './operations/webhooks-test.ts';
import { updateWebhook } from './operations/webhooks-update.ts';
import type { ProviderOperations } from './providers/provider-operations.ts';
import type { WebhookOperations } from './webhooks/webhook-operations.ts';

export interface Served {
  readonly keys: KeyOperations;
  readonly orgs: OrgCreateDeps;
  readonly computers: ComputerOperations;
  readonly files: FileOperations;
  readonly webhooks: WebhookOperations;
  readonly providers: ProviderOperations;
}

export function register(
  service: ServiceHost,
  { keys, orgs, computers, files, webhooks, providers }: Served,
): void {
  service.handle('keys.create', createKey(keys));
  service.handle('keys.list', listKeys(keys));
  service.handle('keys.get', getKey(keys));
  service.handle('keys.update', updateKey(keys));
  service.handle('keys.rotate', rotateKey(keys));
  service.handle('keys.delete', deleteKey(keys));
  service.handle('orgs.create', createOrg(orgs));
  service.handle('orgs.list', listOrgs(orgs));
  service.handle('orgs.get', getOrg(orgs));
  service.handle('orgs.update', updateOrg({ ...orgs, computers }));
  service.handle('orgs.delete', deleteOrg({ ...orgs, computers }));
  service.handle('orgs.keys.create', createOrgKey(orgs));
  service.handle('computers.options', computerOptions(computers));
  service.handle('computers.create', createComputer(computers));
  service.stream(CREATION_STREAM_SUBJECT, streamCreation(computers));
  service.handle('computers.list', listComputers(computers));
  service.handle('computers.get', getComputer(computers));
  service.handle('computers.delete', deleteComputer(computers));
  service.handle('computers.upload', uploadToComputer(computers, files));
  service.handle('files.list', listFiles(files));
  service.handle('files.get', getFile(files));
  service.handle('files.delete', deleteFile(files));
  service.stream(FILE_STORE_SUBJECT, storeFile(files));
  service.stream(FILE_CONTENT_SUBJECT, sendFile(files));
  service.handle('webhooks.create', createWebhook(webhooks));
  service.handle('webhooks.list', listWebhooks(webhooks));
  service.handle('webhooks.get', getWebhook(webhooks));
  service.handle('webhooks.update', updateWebhook(webhooks));
  service.handle('webhooks.rotate', rotateWebhook(webhooks));
  service.handle('webhooks.test', testWebhook(webhooks));
  service.handle('webhooks.deliveries', listDeliveries(webhooks));
  service.handle('webhooks.delete', deleteWebhook(webhooks));
  service.handle('providers.set', setProvider(providers));
  service.handle('providers.delete', deleteProviderKey(providers));
  service.handle('signing-secret.get', getSigningSecret(webhooks));
  service.handle('signing-secret.rotate', rotateOrgSigningSecret(webhooks));
}
