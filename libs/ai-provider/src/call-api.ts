// One call of Switchyard's HTTP API: builds headers, maps errors to the AI SDK's, and validates the answer.
import type { SharedV4ProviderOptions } from '@ai-sdk/provider';
import {
  combineHeaders,
  createBinaryResponseHandler,
  createJsonErrorResponseHandler,
  createJsonResponseHandler,
  type FetchFunction,
  getFromApi,
  postFormDataToApi,
  postJsonToApi,
  type ResponseHandler,
} from '@ai-sdk/provider-utils';
import { errorBody } from '@switchyard/contracts';
import { z } from 'zod';

/** The provider's name, also the key in `providerOptions` and `providerMetadata`. */
export const NAME = 'switchyard';

/** Costs are whole nano-dollars. */
export const NANOS_PER_DOLLAR = 1e9;

export interface ApiAccess {
  /** Ends with `/v1`, without a trailing slash. */
  readonly baseURL: string;
  headers(): Record<string, string>;
  readonly fetch: FetchFunction | undefined;
}

/** Options of an SDK call that apply to every request. */
export interface CallOptions {
  readonly headers?: Record<string, string | undefined> | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** Accepts codes of later API versions, so that the message is kept. */
const anyErrorBody = errorBody.extend({
  error: errorBody.shape.error.extend({ code: z.string(), request_id: z.string().optional() }),
});

/** Maps API errors to the SDK: our message; retryable by `x-should-retry`, or else by the status. */
export const ERROR_STRUCTURE = {
  errorSchema: anyErrorBody,
  errorToMessage: ({ error }: z.infer<typeof anyErrorBody>) => error.message,
  isRetryable: ({ status, headers }: Response): boolean => {
    const advice = headers.get('x-should-retry');
    return advice === null ? [408, 409, 429].includes(status) || status >= 500 : advice === 'true';
  },
};
const failedResponseHandler = createJsonErrorResponseHandler(ERROR_STRUCTURE);

/** A model of any type but chat. */
export class SwitchyardModel {
  readonly specificationVersion = 'v4';
  readonly modelId: string;
  protected readonly access: ApiAccess;

  constructor(access: ApiAccess, modelId: string) {
    this.access = access;
    this.modelId = modelId;
  }
}

/** @throws APICallError */
export function postJson<S extends z.ZodType>(
  access: ApiAccess,
  path: string,
  body: object,
  result: S,
  options: CallOptions,
) {
  return answered(
    postJsonToApi<z.output<S>>({
      ...common(access, path, options),
      body,
      successfulResponseHandler: createJsonResponseHandler(result) as ResponseHandler<z.output<S>>,
    }),
  );
}

/** Posts a multipart form. @throws APICallError */
export function postForm<S extends z.ZodType>(
  access: ApiAccess,
  path: string,
  formData: FormData,
  result: S,
  options: CallOptions,
) {
  return answered(
    postFormDataToApi<z.output<S>>({
      ...common(access, path, options),
      formData,
      successfulResponseHandler: createJsonResponseHandler(result) as ResponseHandler<z.output<S>>,
    }),
  );
}

/** Posts JSON for an answer of bytes. @throws APICallError */
export function postForBytes(access: ApiAccess, path: string, body: object, options: CallOptions) {
  return postJsonToApi<Uint8Array>({
    ...common(access, path, options),
    body,
    successfulResponseHandler: createBinaryResponseHandler(),
  });
}

/** @throws APICallError */
export function getJson<S extends z.ZodType>(
  access: ApiAccess,
  path: string,
  result: S,
  options: CallOptions,
) {
  return answered(
    getFromApi<z.output<S>>({
      ...common(access, path, options),
      validateUrl: false,
      successfulResponseHandler: createJsonResponseHandler(result) as ResponseHandler<z.output<S>>,
    }),
  );
}

/** Downloads a URL signed by Switchyard. Sends no key, because it needs none. @throws APICallError */
export function download(access: ApiAccess, url: string, { abortSignal }: CallOptions) {
  return getFromApi<Uint8Array>({
    url,
    // Our own edge may run on this machine; any other address in an answer is validated.
    validateUrl: true,
    trustedOrigin: access.baseURL,
    ...(access.fetch ? { fetch: access.fetch } : {}),
    ...(abortSignal ? { abortSignal } : {}),
    failedResponseHandler,
    successfulResponseHandler: createBinaryResponseHandler(),
  });
}

/** `providerOptions.switchyard`: additional body fields, passed through unchanged. */
export function extraFields(options: SharedV4ProviderOptions | undefined): object {
  return options?.[NAME] ?? {};
}

/** A cost for `providerMetadata`. */
export function costMetadata(cost: number) {
  return { [NAME]: { cost } };
}

function common(access: ApiAccess, path: string, { headers, abortSignal }: CallOptions) {
  return {
    url: access.baseURL + path,
    headers: combineHeaders(access.headers(), headers),
    failedResponseHandler,
    ...(abortSignal ? { abortSignal } : {}),
    ...(access.fetch ? { fetch: access.fetch } : {}),
  };
}

/** An answer as our schema reads it, and as it was sent. */
async function answered<T>(
  call: Promise<{ value: T; rawValue?: unknown; responseHeaders?: Record<string, string> | undefined }>,
) {
  const { value, rawValue, responseHeaders: headers = {} } = await call;
  return { value, response: { headers, body: rawValue } };
}
