// Progress of creations whose image is being pulled.
import { Progress, Stack, Text } from '@mantine/core';
import type { ComputerObject, CreationProgress } from '@switchyard/contracts';
import { useGet } from '../api/client.ts';

/** Interval of polls for state that no event reports. */
export const LOOK_EVERY_MS = 2_000;

const PHASES: Record<CreationProgress['phase'], string> = {
  looking_up: 'waiting for the registry',
  pulling: 'downloading',
  extracting: 'unpacking',
  starting: 'starting',
};

interface PullProgressProps {
  readonly name: string;
  readonly progress: CreationProgress;
}

export function PullProgress({ name, progress: { phase, percent } }: PullProgressProps) {
  return (
    <Stack gap={4}>
      <Text size="sm" data-testid="creation-progress">
        {name}: {PHASES[phase]}, {percent} %
      </Text>
      <Progress value={percent} aria-label={`Progress of ${name}`} />
    </Stack>
  );
}

/** Of all computers that are being created now. */
export function Creations() {
  const { data } = useGet<{ data: ComputerObject[] }>('/v1/computers', { repeatMs: LOOK_EVERY_MS });
  return data?.data.map(
    ({ id, name, progress }) => progress && <PullProgress key={id} name={name} progress={progress} />,
  );
}
