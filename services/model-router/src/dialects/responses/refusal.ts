// The error for a member that cannot be translated to chat.
import { ServiceError } from '@switchyard/contracts';

/** @param param path of the member: `input.3.type` */
export function refuse(param: string, message: string): ServiceError {
  return new ServiceError('invalid_request', `${param}: ${message}`, { param });
}
