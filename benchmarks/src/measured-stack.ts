import { startStack, type TestStack } from '@switchyard/testing';

/**
 * A whole stack as `npm start` runs it. Tests use only the quick compiler of the stand-in database's JVM; benchmarks
 * use all of its compilers.
 */
export function startMeasuredStack(options: Parameters<typeof startStack>[0] = {}): Promise<TestStack> {
  return startStack({ ...options, env: { ...options.env, JDK_JAVA_OPTIONS: '' } });
}
