// The fields that images and videos share: the model and the prompt.
import { Textarea } from '@mantine/core';
import { useState } from 'react';
import { ModelChoice, type TypeProps } from './model-trial.tsx';

interface PromptFieldsProps extends TypeProps {
  readonly value: Prompted;
  readonly onChange: (value: Prompted) => void;
}

interface Prompted {
  readonly model: string;
  readonly prompt: string;
}

export function usePrompted(models: TypeProps['models'], prompt: string) {
  return useState<Prompted>({ model: models[0]?.id ?? '', prompt });
}

export function PromptFields({ models, value, onChange }: PromptFieldsProps) {
  return (
    <>
      <ModelChoice models={models} value={value.model} onChange={(model) => onChange({ ...value, model })} />
      <Textarea
        label="Prompt"
        value={value.prompt}
        onChange={(event) => onChange({ ...value, prompt: event.currentTarget.value })}
        required
      />
    </>
  );
}
