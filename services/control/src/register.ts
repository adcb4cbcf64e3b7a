// Control's only wiring list: the operations of each noun, and the functions that serve them.
import type { ServiceHost } from '@switchyard/bus';
import { CREATION_STREAM_SUBJECT, FILE_CONTENT_SUBJECT, FILE_STORE_SUBJECT } from '@switchyard/contracts';
import type { ComputerOperations } from './computers/computer-operations.ts';
import type { FileOperations } from './files/file-operations.ts';
import { computerHandlers } from './operations/computers.ts';
import { streamCreation } from './operations/computers-create-stream.ts';
import { fileHandlers, sendFile } from './operations/files.ts';
import { storeFile } from './operations/files-create.ts';
import { keyHandlers } from './operations/keys.ts';
import type { KeyOperations } from './operations/keys-create.ts';
import { orgHandlers } from './operations/orgs.ts';
import type { OrgCreateDeps } from './operations/orgs-create.ts';
import { providerHandlers } from './operations/providers.ts';
import { webhookHandlers } from './operations/webhooks.ts';
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
  service.handleAll(keyHandlers(keys));
  service.handleAll(orgHandlers({ ...orgs, computers }));
  service.handleAll(computerHandlers(computers, files));
  service.stream(CREATION_STREAM_SUBJECT, streamCreation(computers));
  service.handleAll(fileHandlers(files));
  service.stream(FILE_STORE_SUBJECT, storeFile(files));
  service.stream(FILE_CONTENT_SUBJECT, sendFile(files));
  service.handleAll(webhookHandlers(webhooks));
  service.handleAll(providerHandlers(providers));
}
