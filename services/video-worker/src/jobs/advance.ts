// Advances a job by one step: the start protocol of docs/decisions/2026-11-21-video-jobs.md. Every step writes its
// intent to the record, acts, then writes the result. After a crash the record therefore shows what may have happened,
// and a maker never gets a second start for a job that it may have accepted.
import { ServiceError, type Upstream, VIDEO_RESULT_HOURS, type VideoRecord } from '@switchyard/contracts';
import {
  messageForCallers,
  redacted,
  type VideoJob,
  type VideoMaker,
  VideoNotTaken,
  type VideoProgress,
} from '@switchyard/model-router/video';
import { type HeldBytes, LARGE_BODY_BYTES_MIN } from '@switchyard/service';
import { defaultResolutionOf } from '../offer/video-limits.ts';
import type { Change, HeldJob } from './held-job.ts';
import type { JobDeps } from './job-deps.ts';
import { chargedNano, differenceNano } from './money.ts';
import { DELETED, eventOf } from './video-events.ts';

/** Maximum starts of one attempt with unknown outcome, at makers with idempotent starts. */
const STARTS_MAX = 5;
/** Delay between two status checks of a job; grows with each check. */
const LOOK_AFTER_MS_MIN = 500;
const LOOK_AFTER_MS_MAX = 10_000;
const LOOK_GROWTH = 1.5;
/** Delay before a video that found the store full is downloaded or rendered again: others expire after hours. */
const STORE_FULL_RETRY_MS = 5 * 60_000;
/** More than all upstreams of all models that one request may name. */
const STEPS_MAX = 2_000;
/** A maker that does not answer a cancel request must not block the job. */
const CANCEL_TIMEOUT_MS = 10_000;
const MESSAGE_LENGTH_MAX = 1_000;
/** Memory for an input in a maker request: a first frame's bytes, plus base64 in two places of a JSON text. */
const INPUT_COPIES = 5;
const RESULT_MS = VIDEO_RESULT_HOURS * 3_600_000;

/** After a step, the worker either continues at once, or writes the change and releases the lease. */
type After = { next: 'go on' } | { next: 'rest'; change: Change };

const GO_ON: After = { next: 'go on' };
/** Another worker may continue at once. */
const LEAVE: After = { next: 'rest', change: {} };

/** Whether a worker still has to act on this job. */
export function needsWork({ state, unpublished_events }: VideoRecord): boolean {
  return state === 'waiting' || state === 'starting' || state === 'started' || unpublished_events.length > 0;
}

/** Advances the job as far as possible now, then releases the lease. */
export async function workOn(deps: JobDeps, held: HeldJob): Promise<void> {
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const after = await advance(deps, held);
    if (after.next === 'rest') return held.release(after.change);
  }
  throw new Error(`${held.record.id} takes too many steps`);
}

async function advance(deps: JobDeps, held: HeldJob): Promise<After> {
  const { record } = held;
  if (record.unpublished_events.length > 0) return publishPending(deps, held);
  switch (record.state) {
    case 'waiting':
      return endBeforeStart(deps, held) ?? startNext(deps, held);
    case 'starting':
      return endBeforeStart(deps, held) ?? startAgain(deps, held);
    case 'started':
      return look(deps, held);
    case 'completed':
    case 'failed':
    case 'cancelled':
      return LEAVE;
    default:
      throw new Error(`unknown state: ${String(record.state satisfies never)}`);
  }
}

/** Publishes the pending events of the record. The end event comes last, when the inputs are no longer needed. */
async function publishPending(deps: JobDeps, held: HeldJob): Promise<After> {
  const { record } = held;
  for (const kind of record.unpublished_events) await deps.events.publish(eventOf(record, kind));
  if (record.ended_at !== null) {
    await clearAway(deps, record);
    return { next: 'rest', change: { unpublished_events: [] } };
  }
  await held.change({ unpublished_events: [] });
  return GO_ON;
}

/** Objects that this misses are removed by the expiry of their store. */
async function clearAway({ inputs, results, logger }: JobDeps, record: VideoRecord): Promise<void> {
  try {
    await inputs.delete(record.id);
    if (record.deleted) await results.delete(record.id);
  } catch (error) {
    logger.warn({ err: error, video: record.id }, 'inputs of a video not deleted; they expire later');
  }
}

/** Ends a job that was deleted, or is late, before a maker accepted it; null: it is neither. */
function endBeforeStart(deps: JobDeps, held: HeldJob): Promise<After> | null {
  if (held.record.deleted)
    return fail(deps, held, DELETED, 'The video was deleted before a maker accepted it.');
  if (isLate(deps, held.record))
    return fail(deps, held, 'upstream_timeout', 'No maker accepted the job in time. Create the video again.');
  return null;
}

async function startNext(deps: JobDeps, held: HeldJob): Promise<After> {
  const { record } = held;
  const next = candidatesOf(deps, record)[record.attempts.length];
  if (!next) return failExhausted(deps, held);
  return withInput(deps, held, async (job) => {
    if (!job)
      return fail(
        deps,
        held,
        'internal_error',
        'The input of the video is no longer stored. Create the video again.',
      );
    await held.change({ state: 'starting', attempt: { ...next, job: null }, starts: 1 });
    return ask(deps, held, job);
  });
}

/** Handles a job found in `starting`: the previous worker died, or got no answer, before it recorded the outcome. */
async function startAgain(deps: JobDeps, held: HeldJob): Promise<After> {
  const { record } = held;
  const { upstream } = attemptOf(record);
  const mayRepeat = deps.makers[upstream.adapter]?.startIsIdempotent(upstream) === true;
  if (!mayRepeat || record.starts >= STARTS_MAX) return failUnknown(deps, held);
  return withInput(deps, held, async (job) => {
    if (!job) return failUnknown(deps, held);
    await held.change({ starts: record.starts + 1 });
    return ask(deps, held, job);
  });
}

/**
 * Reads the input of the job once memory is available, and holds the memory until `work` is done. A worker that stops
 * leaves the job to another one: its drain may end during a start, and the maker's answer would be lost.
 */
async function withInput(
  deps: JobDeps,
  held: HeldJob,
  work: (job: VideoJob | null) => Promise<After>,
): Promise<After> {
  let memory: HeldBytes | null = null;
  try {
    memory = await takeMemory(deps, held);
  } catch (error) {
    held.signal.throwIfAborted();
    if (deps.stopping.aborted) return LEAVE;
    throw error;
  }
  try {
    const job = await deps.inputs.read(held.record.id);
    return deps.stopping.aborted ? LEAVE : await work(job);
  } finally {
    memory?.release();
  }
}

/** Memory for a large input; null for others. */
async function takeMemory(deps: JobDeps, { record, signal: lost }: HeldJob): Promise<HeldBytes | null> {
  const { org, input_bytes: bytes } = record;
  if (bytes <= LARGE_BODY_BYTES_MIN) return null;
  const signal = AbortSignal.any([lost, deps.stopping]);
  return deps.largeBodies.take(INPUT_COPIES * bytes, { org, signal });
}

async function ask(deps: JobDeps, held: HeldJob, job: VideoJob): Promise<After> {
  const { model, upstream } = attemptOf(held.record);
  const askedAt = deps.clock.monotonic();
  let reference: string;
  try {
    reference = await makerOf(deps, upstream).start(upstream, job, held.signal);
  } catch (error) {
    held.signal.throwIfAborted();
    if (error instanceof VideoNotTaken)
      return notTaken(deps, held, redacted(error.failure, deps.redactKeys), deps.clock.monotonic() - askedAt);
    deps.logger.warn(
      { error: described(deps, error), video: job.id, model },
      'unknown whether a maker accepted a video',
    );
    const mayRepeat = makerOf(deps, upstream).startIsIdempotent(upstream) && held.record.starts < STARTS_MAX;
    return mayRepeat ? rest(deps, held.record.starts, {}) : failUnknown(deps, held);
  }
  const difference = differenceNano(held.record, model).toString();
  const served = deps.catalog.find(model);
  await held.change({
    state: 'started',
    model,
    default_resolution: served ? defaultResolutionOf(served) : held.record.default_resolution,
    attempt: { model, upstream, job: reference },
    started_at: new Date(deps.clock.now()).toISOString(),
    difference_nano: difference,
    refunded_nano: difference,
    unpublished_events: difference === '0' ? [] : ['difference'],
  });
  return GO_ON;
}

/** Handles a maker's refusal. A rejected request ends the job; any other failure tries the next upstream. */
async function notTaken(
  deps: JobDeps,
  held: HeldJob,
  { status, message, said, kind }: VideoNotTaken['failure'],
  tookMs: number,
): Promise<After> {
  const { model, upstream } = attemptOf(held.record);
  logOurAccount(deps, held, said);
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
  if (kind === 'rejected') return fail(deps, held, 'upstream_rejected', message, { attempts });
  await held.change({ state: 'waiting', attempt: null, starts: 0, attempts });
  return GO_ON;
}

async function look(deps: JobDeps, held: HeldJob): Promise<After> {
  const { record } = held;
  if (record.deleted) return cancelled(deps, held);
  if (isLate(deps, record)) {
    await cancelAtMaker(deps, record);
    return fail(deps, held, 'upstream_timeout', 'The maker did not finish in time. Create the video again.');
  }
  const later = () => rest(deps, record.polls, { polls: record.polls + 1 });
  const late = new AbortController();
  const msLeft = Date.parse(record.deadline_at) - deps.clock.now();
  const stopClock = deps.clock.after(msLeft, () => late.abort(new Error('the job is late')));
  let progress: VideoProgress;
  try {
    progress = await checkStatus(deps, held, late.signal);
    if (progress.state === 'completed') return await keep(deps, held, progress);
  } catch (error) {
    held.signal.throwIfAborted();
    if (held.unwanted.aborted || late.signal.aborted) return GO_ON; // the next step ends the job
    if (deps.stopping.aborted) return LEAVE;
    if (error instanceof ServiceError && error.code === 'body_too_large')
      return fail(
        deps,
        held,
        'video_failed',
        `The video exceeds ${deps.resultBytesMax} bytes. Create a shorter one.`,
      );
    const about = { error: described(deps, error), video: record.id, model: record.model };
    deps.logger.warn(about, 'status check of a video failed');
    const isFull = error instanceof ServiceError && error.code === 'storage_full';
    return isFull ? restFor(deps, Math.min(STORE_FULL_RETRY_MS, msLeft), {}) : later();
  } finally {
    stopClock();
  }
  if (progress.state === 'failed') return failedAtMaker(deps, held, progress.message);
  return later();
}

function failedAtMaker(deps: JobDeps, held: HeldJob, text: string): Promise<After> {
  const { message, said } = messageForCallers(deps.redactKeys(text));
  logOurAccount(deps, held, said);
  return fail(deps, held, 'video_failed', message);
}

/** A maker's error for the log; it may quote our key. */
function described({ redactKeys }: JobDeps, error: unknown): string {
  return redactKeys(String(error instanceof Error ? error.stack : error));
}

/** @param said a maker's whole message when it names our account */
function logOurAccount(deps: JobDeps, { record }: HeldJob, said: string | undefined): void {
  if (said === undefined) return;
  const { model } = attemptOf(record);
  deps.logger.warn({ said, video: record.id, model }, "a maker's error names our account");
}

/** @param late also ends the download of the video, which goes on after this function returns */
async function checkStatus(deps: JobDeps, held: HeldJob, late: AbortSignal): Promise<VideoProgress> {
  const { id } = held.record;
  const { upstream, job } = attemptOf(held.record);
  const input = async () => {
    const stored = await deps.inputs.read(id);
    if (!stored) throw new Error(`the input of ${id} is no longer stored`);
    return stored;
  };
  const signal = AbortSignal.any([held.signal, held.unwanted, deps.stopping, late]);
  return makerOf(deps, upstream).status({ id, upstream, job: job ?? '' }, input, signal);
}

/** Streams the video into our store; the job is completed when all bytes are stored. */
async function keep(
  deps: JobDeps,
  held: HeldJob,
  { mediaType, bytes }: Extract<VideoProgress, { state: 'completed' }>,
): Promise<After> {
  const { id } = held.record;
  // The store counts the age of each chunk from its own write.
  const expiresAt = new Date(deps.clock.now() + RESULT_MS);
  const stored = await deps.results.put(id, bytes, { bytesMax: deps.resultBytesMax });
  if (stored.bytes === 0)
    return fail(deps, held, 'video_failed', 'The maker returned an empty video. Create the video again.');
  await held.change({
    state: 'completed',
    result: { media_type: mediaType, bytes: stored.bytes, expires_at: expiresAt.toISOString() },
    ended_at: new Date(deps.clock.now()).toISOString(),
    unpublished_events: ['completed'],
  });
  return GO_ON;
}

/** Handles deletion of a started job: cancels it at the maker and keeps the charge. */
async function cancelled(deps: JobDeps, held: HeldJob): Promise<After> {
  await cancelAtMaker(deps, held.record);
  await clearAway(deps, held.record);
  const ended_at = new Date(deps.clock.now()).toISOString();
  return { next: 'rest', change: { state: 'cancelled', ended_at } };
}

async function cancelAtMaker(deps: JobDeps, record: VideoRecord): Promise<void> {
  const { upstream, job } = attemptOf(record);
  try {
    const taken = { id: record.id, upstream, job: job ?? '' };
    await deps.makers[upstream.adapter]?.cancel?.(taken, AbortSignal.timeout(CANCEL_TIMEOUT_MS));
  } catch (error) {
    const about = { error: described(deps, error), video: record.id };
    deps.logger.warn(about, 'a video could not be cancelled at its maker');
  }
}

function failExhausted(deps: JobDeps, held: HeldJob): Promise<After> {
  const last = held.record.attempts.at(-1);
  return last
    ? fail(deps, held, 'upstream_error', `No upstream accepted the job: ${last.error}`)
    : fail(deps, held, 'model_unavailable', 'No upstream of the model is usable. Use another model.');
}

function failUnknown(deps: JobDeps, held: HeldJob): Promise<After> {
  return fail(
    deps,
    held,
    'upstream_error',
    'The maker’s answer was lost; the job may not exist. Create the video again.',
  );
}

/** Ends a job without a video and refunds everything that is still charged. */
async function fail(
  deps: JobDeps,
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
    ended_at: new Date(deps.clock.now()).toISOString(),
    refunded_nano: charged.toString(),
    unpublished_events: charged > BigInt(record.difference_nano) ? ['refund', 'failed'] : ['failed'],
  });
  return GO_ON;
}

/** Usable upstreams of the candidate models, in the order in which they are tried. */
function candidatesOf(
  { catalog }: JobDeps,
  { candidates }: VideoRecord,
): { model: string; upstream: Upstream }[] {
  return candidates.flatMap(({ model: id }) => {
    const model = catalog.find(id);
    return model ? catalog.usableUpstreams(model).map((upstream) => ({ model: id, upstream })) : [];
  });
}

/** The upstream that has the job or is asked next; null when none is left. */
export function upstreamOf(deps: JobDeps, record: VideoRecord): Upstream | null {
  return record.attempt?.upstream ?? candidatesOf(deps, record)[record.attempts.length]?.upstream ?? null;
}

function attemptOf({ id, attempt }: VideoRecord): NonNullable<VideoRecord['attempt']> {
  if (attempt === null) throw new Error(`${id} has no attempt`);
  return attempt;
}

function makerOf({ makers }: JobDeps, { adapter }: Upstream): VideoMaker {
  const maker = makers[adapter];
  if (!maker) throw new Error(`unknown video adapter: ${adapter}`);
  return maker;
}

function isLate({ clock }: JobDeps, { deadline_at }: VideoRecord): boolean {
  return clock.now() >= Date.parse(deadline_at);
}

/** @param times number of previous status checks */
function rest(deps: JobDeps, times: number, change: Change): After {
  return restFor(deps, Math.min(LOOK_AFTER_MS_MIN * LOOK_GROWTH ** times, LOOK_AFTER_MS_MAX), change);
}

function restFor({ clock }: JobDeps, ms: number, change: Change): After {
  return { next: 'rest', change: { ...change, next_at: new Date(clock.now() + ms).toISOString() } };
}
