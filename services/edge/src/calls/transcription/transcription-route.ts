// POST /v1/audio/transcriptions: reads the audio in either form and passes it to the router unchanged, with all other
// parameters in the head of the call.
import {
  AUDIO_BYTES_MAX,
  type KeyRecord,
  MODEL_TYPES,
  type ModelCallHead,
  modelCallSubject,
  transcriptionFormRequest,
  transcriptionJsonRequest,
  transcriptionResult,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Route, rawRoute } from '../../http/route.ts';
import type { AdmissionQueue } from '../../overload/admission-queue.ts';
import { beginModelCall } from '../begin-model-call.ts';
import { inPieces } from '../hand-over.ts';
import { MODEL_ERRORS } from '../model-call-routes.ts';
import { type CallRelay, relayCall } from '../relay-call.ts';
import { readTranscription, TRANSCRIPTION_BODY_BYTES_MAX } from './read-transcription.ts';

const TYPE = 'transcription';

interface TranscriptionDeps extends CallRelay {
  queue: Pick<AdmissionQueue, 'openCall'>;
}

export function transcriptionRoutes(deps: TranscriptionDeps): Route[] {
  return [
    rawRoute(
      {
        method: 'POST',
        path: '/v1/audio/transcriptions',
        operationId: 'createTranscription',
        permission: 'models:write',
        charges: 'in_answer',
        tag: 'Models',
        summary: 'Turn speech into text (OpenAI’s shape, or the audio as base64 in JSON)',
        description:
          `Charged per ${MODEL_TYPES[TYPE].chargedPer}, by the true length of the file. ` +
          `At most ${AUDIO_BYTES_MAX} bytes of audio in either form. ` +
          'With `response_format` `text`, `srt` or `vtt` the answer is plain text, and the header X-Service-Cost has its cost.',
        bodyBytesMax: TRANSCRIPTION_BODY_BYTES_MAX,
        request: { body: transcriptionJsonRequest, form: transcriptionFormRequest },
        response: {
          status: 200,
          description: 'The text, with its cost in `usage.cost`',
          body: transcriptionResult,
          asText: ['text/plain', 'application/x-subrip', 'text/vtt'],
        },
        errors: [...MODEL_ERRORS, 'invalid_multipart', 'audio_unreadable'],
      },
      (request, reply, key) => {
        request.subject = { type: TYPE, model: null, computer: null };
        transcribe(deps, key, request, reply).catch((error) => reply.send(error));
      },
    ),
  ];
}

async function transcribe(
  deps: TranscriptionDeps,
  key: KeyRecord,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { model, models, params, audio, release } = await readTranscription(request.raw, {
    ...deps.intake,
    org: key.org,
  });
  request.heldBody = { release }; // until the body is handed over
  await new Promise<void>((resolve, reject) => {
    deps.queue.openCall(request, reply, (refused) => (refused ? reject(refused) : resolve()));
  });
  const common = await beginModelCall(deps, key, request, { model, models }, audio.length);
  const head: ModelCallHead = { ...common, stream: false, include_usage: false, params };
  const body = inPieces(audio, request.heldBody);
  relayCall(deps, { subject: modelCallSubject(TYPE), head, body }, request, reply);
}
