// Every request/reply operation on the bus, once: subject -> request and response. Model calls are byte streams and
// have their heads in model-calls.ts; `exec` of a computer is an operation whose answer may take as long as its command.
import { z } from 'zod';
import {
  accountAudit,
  accountObject,
  createCreditRequest,
  creditList,
  creditObject,
  grantedHold,
  hostHold,
  renewHolds,
  renewHostHolds,
  settleHold,
  settleHostHold,
  takeHold,
} from './accounts.ts';
import { auditLog, auditLogQuery } from './audit-log.ts';
import { modelObject } from './catalog.ts';
import { execList, execObject, hostExecRequest } from './computer-execs.ts';
import { computerMetrics } from './computer-metrics.ts';
import { computerOptions } from './computer-options.ts';
import { computerRecord } from './computer-record.ts';
import { uploadRequest, uploadResult } from './computer-uploads.ts';
import { workspaceDeleted } from './computer-workspace.ts';
import { computerList, computerObject, createComputerRequest, deletedComputer } from './computers.ts';
import { execResult } from './exec-request.ts';
import { deletedFile, fileList, fileObject, filesQuery } from './files.ts';
import {
  createdKey,
  createKeyRequest,
  deletedKey,
  keyList,
  keyObject,
  keySpending,
  rotatedKey,
  rotateKeyRequest,
  updateKeyRequest,
} from './keys.ts';
import { listQuery, shortListQuery } from './lists.ts';
import { logEntry, logList } from './log-entry.ts';
import { markup } from './markup.ts';
import { ALL_PLACES, placeOf, placeTokens } from './org-places.ts';
import { createdOrg, createOrgRequest, orgList, orgObject, updateOrgRequest } from './orgs.ts';
import { deletedProviderKey, providerList, providerObject, setProviderRequest } from './providers.ts';
import { createRefundRequest, refundObject } from './refunds.ts';
import { statement, statementEventList, statementList, statementMonth } from './statements.ts';
import { logsQuery, usageQuery, usageReport } from './usage.ts';
import { deletedVideo, videoListing, videoView } from './videos.ts';
import {
  createWebhookRequest,
  deletedWebhook,
  signingSecret,
  updateWebhookRequest,
  webhookDelivery,
  webhookDeliveryList,
  webhookList,
  webhookObject,
  webhookWithSecret,
} from './webhooks.ts';

/** Who asks: every operation on an org's things carries it; the edge has authenticated it. */
export const caller = z.object({ org: z.string(), key_id: z.string() });
export type Caller = z.infer<typeof caller>;

const empty = z.object({});
const byId = z.object({ id: z.string() });
const byMaker = z.object({ maker: z.string() });
const longList = caller.extend({ query: listQuery });
const shortList = caller.extend({ query: shortListQuery });

const operation = <I extends z.ZodType, O extends z.ZodType>(subject: string, request: I, response: O) => ({
  subject,
  request,
  response,
});

/** An operation on the money of the orgs at one place: its subject goes on with the place (org-places.ts). */
const atPlace = <I extends z.ZodType, O extends z.ZodType>(
  subject: string,
  request: I,
  response: O,
  place: (request: z.infer<I>) => number,
) => ({ ...operation(subject, request, response), place });

/** One on the money of one org. */
const ofOrg = <I extends z.ZodType<{ org: string }>, O extends z.ZodType>(
  subject: string,
  request: I,
  response: O,
) => atPlace(subject, request, response, ({ org }) => placeOf(org));

/**
 * One that a computer host asks for: its subject has the host's id before the place, and nats-server lets each host use
 * its own only.
 */
const fromHost = <P extends { request: z.ZodType<{ host: string }> }>(operation: P) => ({
  ...operation,
  fromHost: true,
});

export const OPERATIONS = {
  'models.list': operation('model-router.v1.models.list', markup, z.object({ data: z.array(modelObject) })),

  'keys.create': operation('control.v1.keys.create', caller.extend({ body: createKeyRequest }), createdKey),
  'keys.list': operation('control.v1.keys.list', shortList, keyList),
  'keys.update': operation(
    'control.v1.keys.update',
    caller.extend({ ...byId.shape, body: updateKeyRequest }),
    keyObject,
  ),
  'keys.get': operation('control.v1.keys.get', caller.extend(byId.shape), keyObject),
  'keys.rotate': operation(
    'control.v1.keys.rotate',
    caller.extend({ ...byId.shape, body: rotateKeyRequest }),
    rotatedKey,
  ),
  'keys.delete': operation('control.v1.keys.delete', caller.extend(byId.shape), deletedKey),

  'webhooks.create': operation(
    'control.v1.webhooks.create',
    caller.extend({ body: createWebhookRequest }),
    webhookWithSecret,
  ),
  'webhooks.list': operation('control.v1.webhooks.list', shortList, webhookList),
  'webhooks.get': operation('control.v1.webhooks.get', caller.extend(byId.shape), webhookObject),
  'webhooks.update': operation(
    'control.v1.webhooks.update',
    caller.extend({ ...byId.shape, body: updateWebhookRequest }),
    webhookObject,
  ),
  'webhooks.rotate': operation('control.v1.webhooks.rotate', caller.extend(byId.shape), webhookWithSecret),
  'webhooks.test': operation('control.v1.webhooks.test', caller.extend(byId.shape), webhookDelivery),
  'webhooks.deliveries': operation(
    'control.v1.webhooks.deliveries',
    shortList.extend(byId.shape),
    webhookDeliveryList,
  ),
  'webhooks.delete': operation('control.v1.webhooks.delete', caller.extend(byId.shape), deletedWebhook),
  'signing-secret.get': operation('control.v1.signing-secret.get', caller, signingSecret),
  'signing-secret.rotate': operation('control.v1.signing-secret.rotate', caller, signingSecret),

  'computers.options': operation('control.v1.computers.options', markup, computerOptions),
  'computers.create': operation(
    'control.v1.computers.create',
    caller.extend({
      body: createComputerRequest,
      /** Whether something limits what the caller may spend. */
      limited: z.boolean(),
      ...markup.shape,
    }),
    computerObject,
  ),
  'computers.list': operation('control.v1.computers.list', shortList, computerList),
  'computers.get': operation('control.v1.computers.get', caller.extend(byId.shape), computerObject),
  'computers.upload': operation(
    'control.v1.computers.upload',
    caller.extend({ ...byId.shape, body: uploadRequest }),
    uploadResult,
  ),
  'computers.delete': operation('control.v1.computers.delete', caller.extend(byId.shape), deletedComputer),

  'videos.list': operation('video-worker.v1.videos.list', longList, videoListing),
  'videos.get': operation('video-worker.v1.videos.get', caller.extend(byId.shape), videoView),
  'videos.delete': operation('video-worker.v1.videos.delete', caller.extend(byId.shape), deletedVideo),

  'files.list': operation('control.v1.files.list', caller.extend({ query: filesQuery }), fileList),
  'files.get': operation('control.v1.files.get', caller.extend(byId.shape), fileObject),
  'files.delete': operation('control.v1.files.delete', caller.extend(byId.shape), deletedFile),

  'orgs.create': operation('control.v1.orgs.create', caller.extend({ body: createOrgRequest }), createdOrg),
  'orgs.list': operation('control.v1.orgs.list', longList, orgList),
  'orgs.get': operation('control.v1.orgs.get', caller.extend(byId.shape), orgObject),
  'orgs.update': operation(
    'control.v1.orgs.update',
    caller.extend({ ...byId.shape, body: updateOrgRequest }),
    orgObject,
  ),
  'orgs.delete': operation('control.v1.orgs.delete', caller.extend(byId.shape), orgObject),
  'orgs.keys.create': operation(
    'control.v1.orgs.keys.create',
    caller.extend({ ...byId.shape, body: createKeyRequest }),
    createdKey,
  ),

  'providers.list': operation(
    'model-router.v1.providers.list',
    caller.extend({ query: shortListQuery }),
    providerList,
  ),
  'providers.set': operation(
    'control.v1.providers.set',
    caller.extend({ ...byMaker.shape, body: setProviderRequest }),
    providerObject,
  ),
  'providers.delete': operation(
    'control.v1.providers.delete',
    caller.extend(byMaker.shape),
    deletedProviderKey,
  ),

  'account.get': ofOrg('billing.v1.account.get', caller, accountObject),
  'audit-log.list': ofOrg(
    'billing.v1.audit-log.list',
    caller.extend({ all_orgs: z.boolean(), query: auditLogQuery }),
    auditLog,
  ),
  'account.audit': ofOrg('billing.v1.account.audit', caller, accountAudit),
  'keys.spending': ofOrg('billing.v1.keys.spending', caller.extend(byId.shape), keySpending),
  'credits.create': ofOrg(
    'billing.v1.credits.create',
    caller.extend({ body: createCreditRequest }),
    creditObject,
  ),
  'refunds.create': ofOrg(
    'billing.v1.refunds.create',
    caller.extend({ refund_id: z.string(), body: createRefundRequest }),
    refundObject,
  ),
  'credits.list': ofOrg('billing.v1.credits.list', longList, creditList),
  'holds.take': ofOrg('billing.v1.holds.take', takeHold, grantedHold),
  'holds.settle': ofOrg('billing.v1.holds.settle', settleHold, empty),
  'holds.renew': atPlace('billing.v1.holds.renew', renewHolds, empty, ({ place }) => place),
  'host-holds.take': fromHost(ofOrg('billing.v1.host-holds.take', hostHold, grantedHold)),
  'host-holds.settle': fromHost(ofOrg('billing.v1.host-holds.settle', settleHostHold, empty)),
  'host-holds.renew': fromHost(
    atPlace('billing.v1.host-holds.renew', renewHostHolds, empty, ({ place }) => place),
  ),

  'statements.list': ofOrg('billing.v1.statements.list', shortList, statementList),
  'statements.get': ofOrg('billing.v1.statements.get', caller.extend({ month: statementMonth }), statement),
  'statements.events': ofOrg(
    'billing.v1.statements.events',
    caller.extend({ month: statementMonth, line: z.string(), query: listQuery }),
    statementEventList,
  ),
  'usage.get': ofOrg('billing.v1.usage.get', caller.extend({ query: usageQuery }), usageReport),
  'logs.list': ofOrg('billing.v1.logs.list', caller.extend({ query: logsQuery }), logList),
  'logs.get': ofOrg('billing.v1.logs.get', caller.extend(byId.shape), logEntry),
} as const;

export type OperationName = keyof typeof OPERATIONS;
export type OperationRequest<N extends OperationName> = z.infer<(typeof OPERATIONS)[N]['request']>;
export type OperationResponse<N extends OperationName> = z.infer<(typeof OPERATIONS)[N]['response']>;

/** Where a request goes. */
export function operationSubject<N extends OperationName>(name: N, request: OperationRequest<N>): string {
  const operation = OPERATIONS[name];
  if (!('place' in operation)) return operation.subject;
  const placeOfRequest = operation.place as (request: OperationRequest<N>) => number;
  const host = isFromHost(name) ? `.${(request as { host: string }).host}` : '';
  return `${operation.subject}${host}.${placeTokens(placeOfRequest(request))}`;
}

/**
 * What serves an operation listens to.
 * @param places of an operation on money: those it serves, as a pattern of `placesPattern`
 * @param host of an operation of hosts: the host that asks, by default any
 */
export function operationPattern(name: OperationName, places = ALL_PLACES, host = '*'): string {
  const operation = OPERATIONS[name];
  if (!('place' in operation)) return operation.subject;
  return `${operation.subject}${isFromHost(name) ? `.${host}` : ''}.${places}`;
}

/** Whether the subject of an operation names the host that asks. */
export function isFromHost(name: OperationName): boolean {
  return 'fromHost' in OPERATIONS[name];
}

/** What a run of a computer begins with. */
const beginRun = byId.extend({
  org: z.string(),
  /** Whether something limits what its org or key may spend; left out: not known. */
  limited: z.boolean().optional(),
});

const beginFirstRun = beginRun.extend({
  /** The record as control has just written it, so that the host need not ask the store for it. */
  made: z.object({ record: computerRecord, revision: z.int().positive() }).optional(),
});

/** Operations of one computer host: `computer-agent.v1.<hostId>.<verb>`. */
export const HOST_OPERATIONS = {
  create: { request: beginFirstRun, response: computerObject },
  start: { request: beginRun, response: computerObject },
  stop: { request: byId.extend({ org: z.string() }), response: computerObject },
  delete: { request: byId.extend({ org: z.string() }), response: deletedComputer },
  exec: { request: hostExecRequest, response: execResult },
  'exec-get': { request: byId.extend({ org: z.string(), exec_id: z.string() }), response: execObject },
  'file-delete': {
    request: byId.extend({ org: z.string(), path: z.string(), recursive: z.boolean() }),
    response: workspaceDeleted,
  },
  metrics: { request: byId.extend({ org: z.string() }), response: computerMetrics },
  'exec-list': { request: byId.extend({ org: z.string() }), response: execList },
} as const;

export type HostOperationName = keyof typeof HOST_OPERATIONS;
export type HostOperationRequest<N extends HostOperationName> = z.infer<
  (typeof HOST_OPERATIONS)[N]['request']
>;
export type HostOperationResponse<N extends HostOperationName> = z.infer<
  (typeof HOST_OPERATIONS)[N]['response']
>;

/** Calls of a host whose bodies are streams. The head of `create-stream` is the request of `create`. */
export type HostStreamName =
  | 'create-stream'
  | 'exec-stream'
  | 'file-read'
  | 'file-write'
  | 'port'
  | 'terminal'
  | 'upload';

export function hostSubject(hostId: string, verb: HostOperationName | HostStreamName): string {
  return `computer-agent.v1.${hostId}.${verb}`;
}
