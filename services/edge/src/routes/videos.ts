import { request as ask, type Bus, type Mirror, requestWhole } from '@switchyard/bus';
import {
  type CreateVideoHead,
  eventIds,
  type KeyRecord,
  listQuery,
  MODEL_BODY_BYTES_MAX,
  type OrgRecord,
  VIDEO_CREATE_SUBJECT,
  VIDEO_URL_SECONDS,
  type VideoObject,
  type VideoView,
  videoList,
  videoObject,
  videosRequest,
  videoView,
} from '@switchyard/contracts';
import { formatDollars, parseDollars } from '@switchyard/money';
import type { Clock } from '@switchyard/service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type OpenRelays, orgSuspended } from '../auth/open-relays.ts';
import { urlNotValid } from '../auth/signed-tokens.ts';
import type { Spending } from '../auth/spending.ts';
import { whileOrgHolds } from '../auth/while-key-holds.ts';
import { beginModelCall } from '../calls/begin-model-call.ts';
import { handOver } from '../calls/hand-over.ts';
import type { BodyChecker } from '../http/body-checker.ts';
import { publicOrigin } from '../http/host-header.ts';
import { check } from '../http/read-body.ts';
import { clientGone } from '../http/request-over.ts';
import { publicRoute, type Route, type RouteDescription, rawRoute } from '../http/route.ts';
import { sendJson } from '../http/send-json.ts';
import { beforeWork } from '../idempotency/before-work.ts';
import type { Receipts } from '../receipts/receipts.ts';
import { sendVideo } from '../videos/send-video.ts';
import type { VideoTokens } from '../videos/video-tokens.ts';
import { operationRoutes } from './operation-route.ts';

const TAG = 'Videos';
const params = z.object({ id: z.string().describe('Id of the video job') });
const signedQuery = z.object({
  token: z.string().max(512).optional().describe('Part of the signed URL. Send it unchanged.'),
});
/** Longer than a large body may wait for its place in memory, plus fetching a first frame. */
const CREATE_TIMEOUT_MS = 240_000;

const START_VIDEO = {
  method: 'POST',
  path: '/v1/videos/generations',
  operationId: 'createVideo',
  permission: 'models:write',
  charges: 'in_answer',
  tag: TAG,
  summary: 'Start a video',
  description:
    'Answers at once with the job; the full price of the requested seconds is charged, and refunded if it fails. Poll GET /v1/videos/{id} every few seconds, or give a `callback_url`.',
  bodyBytesMax: MODEL_BODY_BYTES_MAX,
  request: { body: videosRequest },
  repeatable: false,
  response: { status: 202, description: 'The job, pending', body: videoObject },
  errors: [
    'wrong_endpoint',
    'model_not_allowed',
    'model_not_found',
    'url_not_allowed',
    'url_fetch_failed',
    'model_unavailable',
    'storage_full',
  ],
} satisfies RouteDescription;

const LIST_VIDEOS = {
  method: 'GET',
  path: '/v1/videos',
  operationId: 'listVideos',
  permission: 'models:write',
  tag: TAG,
  summary: 'List videos',
  description: 'Those of the last 30 days, the newest first.',
  request: { query: listQuery },
  response: { status: 200, description: 'A page of the videos', body: videoList },
} satisfies RouteDescription;

const GET_VIDEO = {
  method: 'GET',
  path: '/v1/videos/{id}',
  operationId: 'getVideo',
  permission: 'models:write',
  tag: TAG,
  summary: 'One video',
  description:
    'While its result is kept (24 hours), `videos` has an address that needs no key and expires in an hour; each answer has a new one.',
  request: { params },
  response: { status: 200, description: 'The job', body: videoObject },
  errors: ['video_not_found'],
} satisfies RouteDescription;

const GET_CONTENT = {
  method: 'GET',
  path: '/v1/videos/{id}/content',
  operationId: 'getVideoContent',
  tag: TAG,
  summary: 'The bytes of a video',
  description:
    'At the address from GET /v1/videos/{id}, for an hour. With `Range` the requested part, as 206.',
  request: { params, query: signedQuery },
  response: { status: 200, description: 'The video', contentType: 'video/*', inParts: true },
  errors: [
    'url_expired',
    'url_not_valid',
    'org_suspended',
    'video_not_found',
    'video_expired',
    'range_not_satisfiable',
  ],
} satisfies Omit<RouteDescription, 'permission'>;

interface VideoRoutesDeps {
  readonly bus: Bus;
  readonly orgs: Pick<Mirror<OrgRecord>, 'lookup'>;
  /** Open downloads, which end when their org is suspended. */
  readonly open: OpenRelays;
  readonly spending: Spending;
  readonly receipts: Receipts;
  readonly tokens: VideoTokens;
  readonly bodies: BodyChecker;
  /** Public base URL; undefined: use the origin of the request. */
  readonly publicUrl: string | undefined;
  readonly clock: Clock;
}

export function videoRoutes(deps: VideoRoutesDeps): Route[] {
  const { bus } = deps;
  const operation = operationRoutes(bus, { tag: TAG, permission: 'models:write' });
  return [
    rawRoute(START_VIDEO, (request, reply, key) => startVideo(deps, key, request, reply)),
    rawRoute(LIST_VIDEOS, async (request, reply, key) => {
      const { org, id: key_id } = key;
      const query = check(listQuery, request.query);
      const list = await ask(bus, 'videos.list', { org, key_id, query });
      const data = list.data.map((view) => withUrl(deps, org, view, request));
      sendJson(reply, { ...list, data });
    }),
    rawRoute(GET_VIDEO, async (request, reply, key) => {
      const { org, id: key_id } = key;
      const { id } = check(params, request.params);
      sendJson(reply, withUrl(deps, org, await ask(bus, 'videos.get', { org, key_id, id }), request));
    }),
    operation('videos.delete', {
      method: 'DELETE',
      path: '/v1/videos/{id}',
      operationId: 'deleteVideo',
      summary: 'Delete a video',
      description:
        'With its result. A job that no maker had yet is refunded; one that a maker had is stopped there if possible, and stays charged.',
      params,
      answer: 'The video is gone',
      errors: ['video_not_found'],
    }),
    publicRoute(GET_CONTENT, async (request, reply) => {
      const { id } = check(params, request.params);
      const { token = '' } = check(signedQuery, request.query);
      const video = deps.tokens.readUrl(token, 'GET /v1/videos/{id}');
      if (video.id !== id) throw urlNotValid();
      // The address names no key, so the guard does not check the org.
      if ((await deps.orgs.lookup(video.org))?.suspended_at) throw orgSuspended();
      return whileOrgHolds(deps.open, video.org, clientGone(request, reply), (signal) =>
        sendVideo(bus, video, signal, request, reply),
      );
    }),
  ];
}

async function startVideo(
  deps: VideoRoutesDeps,
  key: KeyRecord,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  request.subject = { type: 'video', model: null, computer: null };
  const gone = clientGone(request, reply);
  const asked = await deps.bodies.check('video', request);
  const { length } = request.body as Buffer;
  const begun = beginModelCall(deps, key, request, asked, length);
  const head: CreateVideoHead = await beforeWork(request.idempotent, begun);
  const call = { subject: VIDEO_CREATE_SUBJECT, head, body: handOver(request) };
  const answer = await requestWhole(deps.bus, call, { signal: gone, timeoutMs: CREATE_TIMEOUT_MS });
  const view = videoView.parse(JSON.parse(answer.toString('utf8')));
  const cost = formatDollars(parseDollars(view.usage.cost));
  reply.headers(deps.receipts.stateCost(key.org, eventIds.videoCharge(view.id), cost));
  sendJson(reply, withUrl(deps, key.org, view, request), 202);
}

/** The job as the caller sees it; a stored result has a signed address. */
function withUrl(
  { tokens, publicUrl }: VideoRoutesDeps,
  org: string,
  { media_type, ...view }: VideoView,
  request: FastifyRequest,
): VideoObject {
  if (view.status !== 'completed') return view;
  if (media_type === null) return { ...view, videos: [] };
  const { token } = tokens.sign({ org, id: view.id }, VIDEO_URL_SECONDS * 1_000);
  const url = `${publicOrigin(publicUrl, request)}/v1/videos/${view.id}/content?token=${token}`;
  return { ...view, videos: [{ media_type, url }] };
}
