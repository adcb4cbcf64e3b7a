// Reads the multipart form: one file, and text fields before or after it.
import { invalidParam, TRANSCRIPTION_FIELDS_BYTES_MAX } from '@switchyard/contracts';
import type { BodyIntake } from '../../http/body-intake.ts';
import { type FilePart, MultipartForm } from '../../http/multipart-form.ts';
import { audioBuffer } from './audio-buffer.ts';
import { FormFields } from './form-fields.ts';
import type { ReadTranscription } from './read-transcription.ts';

const FILE_FIELD = 'file';
/** Maximum fields of a form; repeated fields each count. */
const FIELDS_MAX = 128;
/** The type that the parser reports for a part without a type. */
const DEFAULT_OF_PARSER = 'text/plain';

/**
 * @throws ServiceError `invalid_multipart`, `invalid_request` that names the field, `body_too_large`, and those of the
 * intake
 */
export async function readAudioForm(intake: BodyIntake, contentType: string): Promise<ReadTranscription> {
  const audio = audioBuffer(intake.declaredBytes);
  const formFields = new FormFields(TRANSCRIPTION_FIELDS_BYTES_MAX);
  let file: FilePart | null = null;
  const form = new MultipartForm(contentType, {
    fieldsMax: FIELDS_MAX,
    fieldBytesMax: TRANSCRIPTION_FIELDS_BYTES_MAX,
    onField: (name, value, truncated) => formFields.add(name, value, truncated),
    onFile(part) {
      refuseFile(part.field, file !== null);
      file = part;
      part.content.on('data', (bytes: Buffer) => {
        try {
          audio.append(bytes);
        } catch (error) {
          form.fail(error);
        }
      });
    },
  });
  await intake.read((piece) => form.write(piece));
  await form.end();
  if (!file) throw invalidParam(FILE_FIELD, 'is required. Send the audio as a part with a filename.');
  const { filename, mediaType } = file as FilePart;
  const fields = formFields.read();
  return {
    audio: audio.bytes,
    audioField: FILE_FIELD,
    fields: {
      ...fields,
      media_type: fields.media_type ?? (mediaType === DEFAULT_OF_PARSER ? undefined : mediaType),
      filename: fields.filename ?? (filename === '' ? undefined : filename),
    },
  };
}

/** @throws ServiceError `invalid_request` for a second file, or one under another name */
function refuseFile(field: string, hasFile: boolean): void {
  if (hasFile && field === FILE_FIELD)
    throw invalidParam(FILE_FIELD, 'is given twice. Send one file at a time.');
  if (field === FILE_FIELD) return;
  throw invalidParam(field, `is not the file of the form. Name the part ${FILE_FIELD}.`);
}
