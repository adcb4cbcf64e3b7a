// One step of a job, by where it stands: the start protocol of docs/decisions/2026-11-21-video-jobs.md. The order is the
// same everywhere: write down what is about to happen, do it, write down what came of it. So whoever finds the record
// after a crash knows what may have happened, and no maker is ever asked twice for what it may have taken once.
import { ServiceError, type Upstream, VIDEO_RESULT_HOURS, type VideoRecord } from '@switchyard/contracts';
import {
  type VideoJob,
  type VideoMaker,
  VideoNotTaken,
  type VideoProgress,
} from '@switchyard/model-router/video';
import { LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import { defaultResolutionOf } from '../offer/video-limits.ts';
import type { Change, HeldJob } from './held-job.ts';
import { chargedNano, differenceNano } from './money.ts';
import { DELETED, eventOf } from './news.ts';
import type { JobSurroundings } from './surroundings.ts';

/** Starts of one attempt whose end was not known, at makers that take a start twice for one. */
export const STARTS_MAX = 5;
/** From one look at a job to the next: longer each time. */
const LOOK_AFTER_MS_MIN = 500;
const LOOK_AFTER_MS_MAX = 10_000;
const LOOK_GROWTH = 1.5;
/** More than all upstreams of all models that one request may name. */
const STEPS_MAX = 2_000;
/** A maker that does not answer a cancel does not keep the job. */
const CANCEL_TIMEOUT_MS = 10_000;
const MESSAGE_LENGTH_MAX = 1_000;
/** A first frame in a request to a maker: its bytes, and base64 in two places of a JSON text. */
const IMAGE_COPIES = 5;
const RESULT_MS = VIDEO_RESULT_HOURS * 3_600_000;

/** What comes after a step: another at once, or the lease goes with this change. */
export type After = { next: 'go on' } | { next: 'rest'; change: Change };

const GO_ON: After = { next: 'go on' };

/** Whether anything is left to do about a job. */
export function needsWork({ state, news }: VideoRecord): boolean {
  return state === 'waiting' || state === 'starting' || state === 'started' || news.length > 0;
}

/** Takes the job as far as it goes now, and lets go of it. */
export async function workOn(on: JobSurroundings, held: HeldJob): Promise<void> {
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const after = await advance(on, held);
    if (after.next === 'rest') return held.release(after.change);
  }
  throw new Error(`${held.record.id} comes to no end`);
}

async function advance(on: JobSurroundings, held: HeldJob): Promise<After> {
  const { record } = held;
  if (record.news.length > 0) return tell(on, held);
  switch (record.state) {
    case 'waiting':
      return startNext(on, held);
    case 'starting':
      return startAgain(on, held);
    case 'started':
      return look(on, held);
    case 'completed':
    case 'failed':
    case 'cancelled':
      return { next: 'rest', change: {} };
    default:
      throw new Error(`a state that nobody knows: ${String(record.state satisfies never)}`);
  }
}

/** Publishes what the record says happened; its end is told last, when nothing of it is needed any more. */
async function tell(on: JobSurroundings, held: HeldJob): Promise<After> {
  const { record } = held;
  for (const news of record.news) await on.events.publish(eventOf(record, news));
  if (record.ended_at !== null) {
    await clearAway(on, record);
    return { next: 'rest', change: { news: [] } };
  }
  await held.change({ news: [] });
  return GO_ON;
}

/** What is missed here goes when its store's time is over. */
async function clearAway({ inputs, results, logger }: JobSurroundings, record: VideoRecord): Promise<void> {
  try {
    await inputs.delete(record.id);
    if (record.deleted) await results.delete(record.id);
  } catch (error) {
    logger.warn({ err: error, video: record.id }, 'what a video was made from is cleared away later');
  }
}

async function startNext(on: JobSurroundings, held: HeldJob): Promise<After> {
  const { record } = held;
  if (record.deleted) return fail(on, held, DELETED, 'the video was deleted before a maker had it');
  if (isLate(on, record)) return fail(on, held, 'upstream_timeout', 'no maker took the job in time');
  const next = candidatesOf(on, record)[record.attempts.length];
  if (!next) return failExhausted(on, held);
  return withInput(on, held, async (job) => {
    if (!job)
      return fail(on, held, 'internal_error', 'what the video was to be made from is no longer there');
    await held.change({ state: 'starting', attempt: { ...next, job: null }, starts: 1 });
    return ask(on, held, job);
  });
}

/** Found `starting`: whoever asked did not live to write down what came of it, or did not hear. */
async function startAgain(on: JobSurroundings, held: HeldJob): Promise<After> {
  const { record } = held;
  const { upstream } = attemptOf(record);
  if (record.deleted) return fail(on, held, DELETED, 'the video was deleted before a maker had it');
  if (isLate(on, record)) return fail(on, held, 'upstream_timeout', 'no maker took the job in time');
  const mayRepeat = on.makers[upstream.adapter]?.startIsIdempotent(upstream) === true;
  if (!mayRepeat || record.starts >= STARTS_MAX) return failUnknown(on, held);
  return withInput(on, held, async (job) => {
    if (!job) return failUnknown(on, held);
    await held.change({ starts: record.starts + 1 });
    return ask(on, held, job);
  });
}

/** Reads what the job is made from when there is room for it in memory, until `work` is done. */
async function withInput(
  on: JobSurroundings,
  { record, signal }: HeldJob,
  work: (job: VideoJob | null) => Promise<After>,
): Promise<After> {
  const isLarge = record.image_bytes > LARGE_BODY_BYTES_MIN;
  const place = isLarge ? await on.largeBodies.take(IMAGE_COPIES * record.image_bytes, signal) : null;
  try {
    return await work(await on.inputs.read(record.id));
  } finally {
    place?.release();
  }
}

async function ask(on: JobSurroundings, held: HeldJob, job: VideoJob): Promise<After> {
  const { model, upstream } = attemptOf(held.record);
  const askedAt = on.clock.monotonic();
  let reference: string;
  try {
    reference = await makerOf(on, upstream).start(upstream, job, held.signal);
  } catch (error) {
    held.signal.throwIfAborted();
    if (error instanceof VideoNotTaken)
      return notTaken(on, held, error.failure, on.clock.monotonic() - askedAt);
    on.logger.warn({ err: error, video: job.id, model }, 'whether a maker took a video is not known');
    const mayRepeat = makerOf(on, upstream).startIsIdempotent(upstream) && held.record.starts < STARTS_MAX;
    return mayRepeat ? rest(on, held.record.starts, {}) : failUnknown(on, held);
  }
  const difference = differenceNano(held.record, model).toString();
  const served = on.catalog.find(model);
  await held.change({
    state: 'started',
    model,
    default_resolution: served ? defaultResolutionOf(served) : held.record.default_resolution,
    attempt: { model, upstream, job: reference },
    started_at: new Date(on.clock.now()).toISOString(),
    difference_nano: difference,
    refunded_nano: difference,
    news: difference === '0' ? [] : ['difference'],
  });
  return GO_ON;
}

/** The maker said no: of the request itself that is the answer; of anything else, the next one is asked. */
async function notTaken(
  on: JobSurroundings,
  held: HeldJob,
  { status, message, kind }: VideoNotTaken['failure'],
  tookMs: number,
): Promise<After> {
  const { model, upstream } = attemptOf(held.record);
  const attempts = [
    ...held.record.attempts,
    {
      model,
      upstream: `${upstream.adapter}:${upstream.model}`,
      status,
      error: message,
      latency_ms: Math.round(tookMs * 100) / 100,
    },
  ];
  if (kind === 'rejected') return fail(on, held, 'upstream_rejected', message, { attempts });
  await held.change({ state: 'waiting', attempt: null, starts: 0, attempts });
  return GO_ON;
}

async function look(on: JobSurroundings, held: HeldJob): Promise<After> {
  const { record } = held;
  if (record.deleted) return cancelled(on, held);
  if (isLate(on, record)) {
    await cancelAtMaker(on, record);
    return fail(on, held, 'upstream_timeout', 'the maker was not done in time');
  }
  const later = () => rest(on, record.polls, { polls: record.polls + 1 });
  let progress: VideoProgress;
  try {
    progress = await askHowItStands(on, held);
    if (progress.state === 'completed') return await keep(on, held, progress);
  } catch (error) {
    held.signal.throwIfAborted();
    if (held.unwanted.aborted) return GO_ON; // to the end that a deletion has
    if (on.stopping.aborted) return { next: 'rest', change: {} }; // another worker may go on at once
    if (error instanceof ServiceError && error.code === 'body_too_large')
      return fail(on, held, 'video_failed', `the video is over ${on.resultBytesMax} bytes`);
    on.logger.warn({ err: error, video: record.id, model: record.model }, 'a look at a video told nothing');
    return later();
  }
  if (progress.state === 'failed') return fail(on, held, 'video_failed', progress.message);
  return later();
}

async function askHowItStands(on: JobSurroundings, held: HeldJob): Promise<VideoProgress> {
  const { id } = held.record;
  const { upstream, job } = attemptOf(held.record);
  const input = async () => {
    const words = await on.inputs.read(id);
    if (!words) throw new Error(`what ${id} is to be made from is no longer there`);
    return words;
  };
  const signal = AbortSignal.any([held.signal, held.unwanted, on.stopping]);
  return makerOf(on, upstream).status({ id, upstream, job: job ?? '' }, input, signal);
}

/** The video goes into our own store as it comes, and the job is done when it is all there. */
async function keep(
  on: JobSurroundings,
  held: HeldJob,
  { mediaType, bytes }: Extract<VideoProgress, { state: 'completed' }>,
): Promise<After> {
  const { id } = held.record;
  const stored = await on.results.put(id, bytes, { bytesMax: on.resultBytesMax });
  if (stored.bytes === 0) return fail(on, held, 'video_failed', 'the maker brought an empty video');
  const now = on.clock.now();
  await held.change({
    state: 'completed',
    result: {
      media_type: mediaType,
      bytes: stored.bytes,
      expires_at: new Date(now + RESULT_MS).toISOString(),
    },
    ended_at: new Date(now).toISOString(),
    news: ['completed'],
  });
  return GO_ON;
}

/** Deleted while a maker had it: the maker is told, and the charge stands. */
async function cancelled(on: JobSurroundings, held: HeldJob): Promise<After> {
  await cancelAtMaker(on, held.record);
  await clearAway(on, held.record);
  const ended_at = new Date(on.clock.now()).toISOString();
  return { next: 'rest', change: { state: 'cancelled', ended_at } };
}

async function cancelAtMaker(on: JobSurroundings, record: VideoRecord): Promise<void> {
  const { upstream, job } = attemptOf(record);
  try {
    const taken = { id: record.id, upstream, job: job ?? '' };
    await on.makers[upstream.adapter]?.cancel?.(taken, AbortSignal.timeout(CANCEL_TIMEOUT_MS));
  } catch (error) {
    on.logger.warn({ err: error, video: record.id }, 'a maker could not be told that a video is not wanted');
  }
}

function failExhausted(on: JobSurroundings, held: HeldJob): Promise<After> {
  const last = held.record.attempts.at(-1);
  return last
    ? fail(on, held, 'upstream_error', `no upstream could take the job: ${last.error}`)
    : fail(on, held, 'model_unavailable', 'no upstream of the model can be called any more');
}

function failUnknown(on: JobSurroundings, held: HeldJob): Promise<After> {
  return fail(on, held, 'upstream_error', 'the maker could not be shown to have taken the job');
}

/** The end of a job without a video: all that is still charged goes back. */
async function fail(
  on: JobSurroundings,
  held: HeldJob,
  code: string,
  message: string,
  change: Change = {},
): Promise<After> {
  const { record } = held;
  const charged = chargedNano(record);
  await held.change({
    ...change,
    state: 'failed',
    error: { code, message: message.slice(0, MESSAGE_LENGTH_MAX) },
    ended_at: new Date(on.clock.now()).toISOString(),
    refunded_nano: charged.toString(),
    news: charged > BigInt(record.difference_nano) ? ['refund', 'failed'] : ['failed'],
  });
  return GO_ON;
}

/** The upstreams of the models that can make it, in the order in which they are asked. */
function candidatesOf(
  { catalog }: JobSurroundings,
  { candidates }: VideoRecord,
): { model: string; upstream: Upstream }[] {
  return candidates.flatMap(({ model: id }) => {
    const model = catalog.find(id);
    return model ? catalog.usableUpstreams(model).map((upstream) => ({ model: id, upstream })) : [];
  });
}

function attemptOf({ id, attempt }: VideoRecord): NonNullable<VideoRecord['attempt']> {
  if (attempt === null) throw new Error(`${id} was asked of nobody`);
  return attempt;
}

function makerOf({ makers }: JobSurroundings, { adapter }: Upstream): VideoMaker {
  const maker = makers[adapter];
  if (!maker) throw new Error(`no adapter for videos is called ${adapter}`);
  return maker;
}

function isLate({ clock }: JobSurroundings, { deadline_at }: VideoRecord): boolean {
  return clock.now() >= Date.parse(deadline_at);
}

/** @param times how often it was looked at already */
function rest({ clock }: JobSurroundings, times: number, change: Change): After {
  const ms = Math.min(LOOK_AFTER_MS_MIN * LOOK_GROWTH ** times, LOOK_AFTER_MS_MAX);
  return { next: 'rest', change: { ...change, next_at: new Date(clock.now() + ms).toISOString() } };
}
