// Facts about endpoints for tests/authorization.test.ts, beside the OpenAPI document: who may call each, and which of
// its parameters name an org's resource. An endpoint or a parameter that is missing here fails that test.

/** An org's resources with ids. */
export const KINDS = [
  ...['org', 'key', 'file', 'webhook', 'delivery', 'video', 'call', 'credit', 'booking', 'line', 'change'],
  ...['computer', 'exec'],
] as const;
export type Kind = (typeof KINDS)[number];

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'options'];

/** Operations by the permissions that they need; `any`: a valid key is enough; `public`: no key. */
const OPERATIONS_BY_PERMISSION: Readonly<Record<string, readonly string[]>> = {
  public: [
    ...['createSession', 'getSession', 'deleteSession', 'getVideoContent'],
    ...METHODS.map((method) => `${method}ComputerLink`),
  ],
  any: ['createSignInLink', 'getOwnKey', 'listModels', 'getModel', 'getModelByEncodedId', 'mcp'],
  'models:write': [
    ...['createChatCompletion', 'createCompletion', 'createResponse', 'createMessage', 'countMessageTokens'],
    ...['createEmbedding', 'createImage', 'createSpeech', 'createTranscription', 'createDecision'],
    ...['rerank', 'rerankV2', 'createVideo', 'listVideos', 'getVideo', 'deleteVideo'],
  ],
  'computers:read': [
    ...['listComputers', 'getComputerOptions', 'getComputer', 'getComputerMetrics', 'listExecs', 'getExec'],
    'readComputerFile',
  ],
  'computers:write': [
    ...['createComputer', 'deleteComputer', 'startComputer', 'stopComputer', 'uploadToComputer'],
    ...['execInComputer', 'writeComputerFile', 'deleteComputerFile', 'openTerminal', 'createComputerLink'],
    ...['startDesktop', ...METHODS.map((method) => `${method}ComputerPort`)],
  ],
  'storage:read': ['listFiles', 'getFile', 'getFileContent'],
  'storage:write': ['createFile', 'deleteFile'],
  'usage:read': [
    ...['getAccount', 'auditAccount', 'listCredits', 'listStatements', 'getStatement', 'listStatementEvents'],
    ...['getUsage', 'listLogs', 'getLog', 'streamEvents', 'listAuditLog'],
  ],
  'keys:write': [
    ...['createKey', 'listKeys', 'getKey', 'updateKey', 'deleteKey', 'rotateKey'],
    ...['listWebhooks', 'getWebhook', 'deleteWebhook', 'rotateWebhookSecret'],
    ...['getSigningSecret', 'rotateSigningSecret'],
  ],
  'keys:write usage:read': ['createWebhook', 'updateWebhook', 'testWebhook', 'listWebhookDeliveries'],
  operator: [
    ...['updateAccount', 'createCredit', 'createRefund', 'createOrg', 'listOrgs', 'getOrg', 'updateOrg'],
    ...['deleteOrg', 'createOrgKey', 'getOrgAccount', 'getOrgUsage', 'createOrgCredit', 'createOrgRefund'],
    ...['listProviders', 'setProvider', 'deleteProviderKey'],
  ],
};

/** Operation -> who may call it. */
export const MAY_CALL: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(OPERATIONS_BY_PERMISSION).flatMap(([who, names]) => names.map((name) => [name, who])),
);

/** What `{id}` names, by the part of the path before it. */
const SUBJECTS: Readonly<Record<string, Kind>> = {
  ...{ '/v1/orgs': 'org', '/v1/keys': 'key', '/v1/files': 'file', '/v1/webhooks': 'webhook' },
  ...{ '/v1/videos': 'video', '/v1/computers': 'computer' },
};

/** Kinds of list entries, which `after` and `cursor` name. */
const LISTED: Readonly<Record<string, Kind | null>> = {
  ...SUBJECTS,
  ...{ '/v1/logs': 'call', '/v1/credits': 'credit', '/v1/models': null, '/v1/statements': null, '/v1/providers': null },
  ...{ '/v1/computers/{id}/execs': 'exec', '/v1/webhooks/{id}/deliveries': 'delivery' },
  ...{ '/v1/statements/{month}/lines/{line}': 'booking', '/v1/audit-log': 'change' },
};

/** What other parameters of paths and queries name; null: nothing of an org. */
const PARAMETERS: Readonly<Record<string, Kind | null>> = {
  ...{ actor: 'key', exec_id: 'exec', request_id: 'call', line: 'line', key: 'key', computer: 'computer' },
  ...{ maker: null, name: null, model: null, month: null, port: null, path: null, recursive: null },
  ...{ limit: null, order: null, purpose: null, type: null, since: null, cols: null, rows: null },
  ...{ from: null, to: null, interval: null, group_by: null, tz: null, status: null, tag: null, format: null },
  ...{ cost_min: null, cost_max: null, available: null, client_request_id: null },
  token: null, // signed addresses have tests of their own
};

/** Members of bodies whose names look like ids; null: they name nothing of an org. */
const MEMBERS: Readonly<Record<string, Kind | null>> = {
  'uploadToComputer.file': 'file',
  ...{ 'createTranscription.file': null, 'createFile.file': null }, // the bytes
  'createResponse.previous_response_id': null, // always refused
  'setProvider.api_key': null, // the maker's secret
  ...{ 'createRefund.request_id': 'call', 'createRefund.event': 'booking' },
  ...{ 'createOrgRefund.request_id': 'call', 'createOrgRefund.event': 'booking' },
};
const LIKE_AN_ID = /(^|_)(id|ids|file|files|computer|key|webhook|video|org|event|exec)$/;

/** What a parameter names; undefined: not in this file. */
export function kindOfParameter(path: string, name: string): Kind | null | undefined {
  if (name === 'org' && path === '/v1/audit-log') return 'org';
  if (name === 'id') return SUBJECTS[path.slice(0, path.indexOf('/{id}'))];
  return name === 'after' || name === 'cursor' ? LISTED[path] : PARAMETERS[name];
}

export function kindOfMember(operation: string, name: string): Kind | null | undefined {
  return LIKE_AN_ID.test(name) ? MEMBERS[`${operation}.${name}`] : null;
}
