// Every request/reply operation on the bus, once: name -> its service, its callers, request and response. Model calls are
// byte streams and have their heads in model-calls.ts; `exec` of a computer is an operation whose answer may take as long
// as its command.
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
import { execList, execObject, execResult, hostExecRequest } from './computer-execs.ts';
import { computerOptions } from './computer-limits.ts';
import { computerMetrics } from './computer-metrics.ts';
import { computerRecord } from './computer-record.ts';
import { uploadRequest, uploadResult, workspaceDeleted } from './computer-workspace.ts';
import { computerList, computerObject, createComputerRequest, deletedComputer } from './computers.ts';
import { EVENTS, REQUEST_CHARGES } from './events.ts';
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
import { HOST_SERVICE, type ServiceName } from './services.ts';
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

/** The caller, authenticated by the edge: every operation on an org's resources carries it. */
export const caller = z.object({ org: z.string(), key_id: z.string() });
export type Caller = z.infer<typeof caller>;

const empty = z.object({});
const byId = z.object({ id: z.string() });

const withBody = <B extends z.ZodType>(body: B) => caller.extend({ body });
const withId = caller.extend(byId.shape);
const withIdAndBody = <B extends z.ZodType>(body: B) => withId.extend({ body });
const withQuery = <Q extends z.ZodType>(query: Q) => caller.extend({ query });
const longList = withQuery(listQuery);
const shortList = withQuery(shortListQuery);

type Services = readonly ServiceName[];
const EDGE: Services = ['edge'];
/** Services whose work is held against budgets. Computer hosts have operations of their own. */
const SPENDERS: Services = [...new Set(REQUEST_CHARGES.map((name) => EVENTS[name].by))];
const HOSTS: Services = [HOST_SERVICE];

/** An operation says who calls it: nats-server refuses it to every other service. */
const operationOf =
  (service: ServiceName) =>
  <I extends z.ZodType, O extends z.ZodType>(callers: Services, request: I, response: O) => ({
    service,
    callers,
    request,
    response,
  });

const router = operationOf('model-router');
const control = operationOf('control');
const videos = operationOf('video-worker');

/** An operation on the money of one org: its subject goes on with the org's place (org-places.ts). */
const billing = <I extends z.ZodType<{ org: string }>, O extends z.ZodType>(
  callers: Services,
  request: I,
  response: O,
) => ({
  ...operationOf('billing')(callers, request, response),
  place: ({ org }: { org: string }) => placeOf(org),
});

/** One on the money of the orgs at the place that the request names. */
const billingAtPlace = <I extends z.ZodType<{ place: number }>, O extends z.ZodType>(
  callers: Services,
  request: I,
  response: O,
) => ({
  ...operationOf('billing')(callers, request, response),
  place: ({ place }: { place: number }) => place,
});

/**
 * One that a computer host asks for: its subject has the host's id before the place, and nats-server lets each host use
 * its own only.
 */
const fromHost = <P extends { request: z.ZodType<{ host: string }> }>(operation: P) => ({
  ...operation,
  fromHost: true,
});

export const OPERATIONS = {
  'models.list': router(EDGE, markup, z.object({ data: z.array(modelObject) })),

  'keys.create': control(EDGE, withBody(createKeyRequest), createdKey),
  'keys.list': control(EDGE, shortList, keyList),
  'keys.update': control(EDGE, withIdAndBody(updateKeyRequest), keyObject),
  'keys.get': control(EDGE, withId, keyObject),
  'keys.rotate': control(EDGE, withIdAndBody(rotateKeyRequest), rotatedKey),
  'keys.delete': control(EDGE, withId, deletedKey),

  'webhooks.create': control(EDGE, withBody(createWebhookRequest), webhookWithSecret),
  'webhooks.list': control(EDGE, shortList, webhookList),
  'webhooks.get': control(EDGE, withId, webhookObject),
  'webhooks.update': control(EDGE, withIdAndBody(updateWebhookRequest), webhookObject),
  'webhooks.rotate': control(EDGE, withId, webhookWithSecret),
  'webhooks.test': control(EDGE, withId, webhookDelivery),
  'webhooks.deliveries': control(EDGE, shortList.extend(byId.shape), webhookDeliveryList),
  'webhooks.delete': control(EDGE, withId, deletedWebhook),
  'signing-secret.get': control(EDGE, caller, signingSecret),
  'signing-secret.rotate': control(EDGE, caller, signingSecret),

  'computers.options': control(EDGE, markup, computerOptions),
  'computers.create': control(
    EDGE,
    withBody(createComputerRequest).extend({
      /** Whether something limits what the caller may spend. */
      limited: z.boolean(),
      ...markup.shape,
    }),
    computerObject,
  ),
  'computers.list': control(EDGE, shortList, computerList),
  'computers.get': control(EDGE, withId, computerObject),
  'computers.upload': control(EDGE, withIdAndBody(uploadRequest), uploadResult),
  'computers.delete': control(EDGE, withId, deletedComputer),

  'videos.list': videos(EDGE, longList, videoListing),
  'videos.get': videos(EDGE, withId, videoView),
  'videos.delete': videos(EDGE, withId, deletedVideo),

  'files.list': control(EDGE, withQuery(filesQuery), fileList),
  'files.get': control(EDGE, withId, fileObject),
  'files.delete': control(EDGE, withId, deletedFile),

  'orgs.create': control(EDGE, withBody(createOrgRequest), createdOrg),
  'orgs.list': control(EDGE, longList, orgList),
  'orgs.get': control(EDGE, withId, orgObject),
  'orgs.update': control(EDGE, withIdAndBody(updateOrgRequest), orgObject),
  'orgs.delete': control(EDGE, withId, orgObject),
  'orgs.keys.create': control(EDGE, withIdAndBody(createKeyRequest), createdKey),

  'providers.list': router(['edge', 'control'], shortList, providerList),
  'providers.set': control(EDGE, withBody(setProviderRequest).extend({ maker: z.string() }), providerObject),
  'providers.delete': control(EDGE, caller.extend({ maker: z.string() }), deletedProviderKey),

  'account.get': billing(['edge', 'billing'], caller, accountObject), // billing: its audit
  'audit-log.list': billing(EDGE, withQuery(auditLogQuery).extend({ all_orgs: z.boolean() }), auditLog),
  'account.audit': billing(EDGE, caller, accountAudit),
  'keys.spending': billing(EDGE, withId, keySpending),
  'credits.create': billing(['edge', 'control'], withBody(createCreditRequest), creditObject),
  'refunds.create': billing(
    EDGE,
    withBody(createRefundRequest).extend({ refund_id: z.string() }),
    refundObject,
  ),
  'credits.list': billing(EDGE, longList, creditList),
  'holds.take': billing(SPENDERS, takeHold, grantedHold),
  'holds.settle': billing(SPENDERS, settleHold, empty),
  'holds.renew': billingAtPlace(SPENDERS, renewHolds, empty),
  'host-holds.take': fromHost(billing(HOSTS, hostHold, grantedHold)),
  'host-holds.settle': fromHost(billing(HOSTS, settleHostHold, empty)),
  'host-holds.renew': fromHost(billingAtPlace(HOSTS, renewHostHolds, empty)),

  'statements.list': billing(EDGE, shortList, statementList),
  'statements.get': billing(EDGE, caller.extend({ month: statementMonth }), statement),
  'statements.events': billing(
    EDGE,
    longList.extend({ month: statementMonth, line: z.string() }),
    statementEventList,
  ),
  'usage.get': billing(EDGE, withQuery(usageQuery), usageReport),
  'logs.list': billing(EDGE, withQuery(logsQuery), logList),
  'logs.get': billing(EDGE, withId, logEntry),
} as const;

export type OperationName = keyof typeof OPERATIONS;
export type OperationRequest<N extends OperationName> = z.infer<(typeof OPERATIONS)[N]['request']>;
export type OperationResponse<N extends OperationName> = z.infer<(typeof OPERATIONS)[N]['response']>;

/** Subject of a request. */
export function operationSubject<N extends OperationName>(name: N, request: OperationRequest<N>): string {
  const operation = OPERATIONS[name];
  const subject = `${operation.service}.v1.${name}`;
  if (!('place' in operation)) return subject;
  const placeOfRequest = operation.place as (request: OperationRequest<N>) => number;
  const host = isFromHost(name) ? `.${(request as { host: string }).host}` : '';
  return `${subject}${host}.${placeTokens(placeOfRequest(request))}`;
}

/**
 * Subscription pattern of an operation.
 * @param places of an operation on money: those it serves, as a pattern of `placesPattern`
 * @param host of an operation of hosts: the host that asks, by default any
 */
export function operationPattern(name: OperationName, places = ALL_PLACES, host = '*'): string {
  const operation = OPERATIONS[name];
  const subject = `${operation.service}.v1.${name}`;
  if (!('place' in operation)) return subject;
  return `${subject}${isFromHost(name) ? `.${host}` : ''}.${places}`;
}

/** Whether the subject of an operation names the host that asks. */
export function isFromHost(name: OperationName): boolean {
  return 'fromHost' in OPERATIONS[name];
}

/** Request that begins a run of a computer. */
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
