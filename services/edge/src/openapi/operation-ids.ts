// The name of every operation: what generators call the function for it.

export const OPERATION_IDS: Readonly<Record<string, string>> = {
  'POST /v1/chat/completions': 'createChatCompletion',
  'POST /v1/completions': 'createCompletion',
  'POST /v1/responses': 'createResponse',
  'POST /v1/messages': 'createMessage',
  'POST /v1/messages/count_tokens': 'countMessageTokens',
  'POST /v1/embeddings': 'createEmbedding',
  'POST /v1/images/generations': 'createImage',
  'POST /v1/audio/speech': 'createSpeech',
  'POST /v1/audio/transcriptions': 'createTranscription',
  'POST /v1/decisions': 'createDecision',
  'POST /v1/rerank': 'rerank',
  'POST /v2/rerank': 'rerankV2',
  'GET /v1/models': 'listModels',
  'GET /v1/models/{maker}/{name}': 'getModel',
  'GET /v1/models/{model}': 'getModelByEncodedId',

  'POST /v1/videos/generations': 'createVideo',
  'GET /v1/videos': 'listVideos',
  'GET /v1/videos/{id}': 'getVideo',
  'DELETE /v1/videos/{id}': 'deleteVideo',
  'GET /v1/videos/{id}/content': 'getVideoContent',

  'POST /v1/computers': 'createComputer',
  'GET /v1/computers': 'listComputers',
  'GET /v1/computers/options': 'getComputerOptions',
  'GET /v1/computers/{id}': 'getComputer',
  'DELETE /v1/computers/{id}': 'deleteComputer',
  'GET /v1/computers/{id}/metrics': 'getComputerMetrics',
  'POST /v1/computers/{id}/start': 'startComputer',
  'POST /v1/computers/{id}/stop': 'stopComputer',
  'POST /v1/computers/{id}/upload': 'uploadToComputer',
  'POST /v1/computers/{id}/exec': 'execInComputer',
  'GET /v1/computers/{id}/execs': 'listExecs',
  'GET /v1/computers/{id}/execs/{exec_id}': 'getExec',
  'GET /v1/computers/{id}/files': 'readComputerFile',
  'PUT /v1/computers/{id}/files': 'writeComputerFile',
  'DELETE /v1/computers/{id}/files': 'deleteComputerFile',
  'GET /v1/computers/{id}/terminal': 'openTerminal',
  'POST /v1/computers/{id}/links': 'createComputerLink',
  'POST /v1/computers/{id}/desktop': 'startDesktop',
  ...ofServersInComputers('/v1/computers/{id}/ports/{port}/{path}', 'ComputerPort'),
  ...ofServersInComputers('/v1/links/{token}/{path}', 'ComputerLink'),

  'POST /v1/session': 'createSession',
  'GET /v1/session': 'getSession',
  'DELETE /v1/session': 'deleteSession',
  'POST /v1/session/links': 'createSignInLink',

  'POST /v1/keys': 'createKey',
  'GET /v1/keys': 'listKeys',
  'GET /v1/keys/{id}': 'getKey',
  'PATCH /v1/keys/{id}': 'updateKey',
  'DELETE /v1/keys/{id}': 'deleteKey',
  'POST /v1/keys/{id}/rotate': 'rotateKey',
  'GET /v1/key': 'getOwnKey',

  'GET /v1/account': 'getAccount',
  'PATCH /v1/account': 'updateAccount',
  'GET /v1/account/audit': 'auditAccount',
  'GET /v1/audit-log': 'listAuditLog',
  'POST /v1/credits': 'createCredit',
  'GET /v1/credits': 'listCredits',
  'POST /v1/refunds': 'createRefund',
  'GET /v1/statements': 'listStatements',
  'GET /v1/statements/{month}': 'getStatement',
  'GET /v1/statements/{month}/lines/{line}': 'listStatementEvents',
  'GET /v1/usage': 'getUsage',
  'GET /v1/logs': 'listLogs',
  'GET /v1/logs/{request_id}': 'getLog',
  'GET /v1/events': 'streamEvents',

  'POST /v1/orgs': 'createOrg',
  'GET /v1/orgs': 'listOrgs',
  'GET /v1/orgs/{id}': 'getOrg',
  'PATCH /v1/orgs/{id}': 'updateOrg',
  'DELETE /v1/orgs/{id}': 'deleteOrg',
  'POST /v1/orgs/{id}/keys': 'createOrgKey',
  'GET /v1/orgs/{id}/account': 'getOrgAccount',
  'GET /v1/orgs/{id}/usage': 'getOrgUsage',
  'POST /v1/orgs/{id}/credits': 'createOrgCredit',
  'POST /v1/orgs/{id}/refunds': 'createOrgRefund',

  'GET /v1/providers': 'listProviders',
  'PUT /v1/providers/{maker}': 'setProvider',
  'DELETE /v1/providers/{maker}': 'deleteProviderKey',

  'POST /v1/files': 'createFile',
  'GET /v1/files': 'listFiles',
  'GET /v1/files/{id}': 'getFile',
  'DELETE /v1/files/{id}': 'deleteFile',
  'GET /v1/files/{id}/content': 'getFileContent',

  'POST /v1/webhooks': 'createWebhook',
  'GET /v1/webhooks': 'listWebhooks',
  'GET /v1/webhooks/signing_secret': 'getSigningSecret',
  'POST /v1/webhooks/signing_secret/rotate': 'rotateSigningSecret',
  'GET /v1/webhooks/{id}': 'getWebhook',
  'PATCH /v1/webhooks/{id}': 'updateWebhook',
  'DELETE /v1/webhooks/{id}': 'deleteWebhook',
  'POST /v1/webhooks/{id}/rotate': 'rotateWebhookSecret',
  'POST /v1/webhooks/{id}/test': 'testWebhook',
  'GET /v1/webhooks/{id}/deliveries': 'listWebhookDeliveries',
};

/** @throws Error for an operation without a name: the edge does not start with one. */
export function operationIdOf(method: string, path: string): string {
  const id = OPERATION_IDS[`${method} ${path}`];
  if (id === undefined) throw new Error(`${method} ${path} has no name in openapi/operation-ids.ts`);
  return id;
}

/** Requests that go to a server in a computer, whatever it does with them. */
function ofServersInComputers(path: string, noun: string): Record<string, string> {
  const verbs = {
    GET: 'get',
    POST: 'post',
    PUT: 'put',
    PATCH: 'patch',
    DELETE: 'delete',
    OPTIONS: 'options',
  };
  return Object.fromEntries(
    Object.entries(verbs).map(([method, verb]) => [`${method} ${path}`, verb + noun]),
  );
}
