import { Image, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { imagesResult } from '@switchyard/contracts';
import { OneCall, type TypeProps } from './model-trial.tsx';

type Drawn = (typeof imagesResult)['_output'];

export default function DrawImage({ model }: TypeProps) {
  const [prompt, setPrompt] = useInputState('two red boats on the sea');
  const [size, setSize] = useInputState('512x512');
  return (
    <OneCall
      action="Draw"
      type="image"
      path="/v1/images/generations"
      body={{ model, prompt, ...(size === '' ? {} : { size }) }}
      read={(answer): Promise<Drawn> => answer.json()}
      fields={
        <>
          <Textarea label="Prompt" value={prompt} onChange={setPrompt} required />
          <TextInput
            label="Size"
            value={size}
            onChange={setSize}
            description="Width x height; empty: the model chooses"
          />
        </>
      }
    >
      {({ data }) => (
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {data.map(({ b64_json: image }, at) => (
            <Image
              key={image.slice(0, 64)}
              src={`data:${mediaTypeOf(image)};base64,${image}`}
              alt={`${prompt}, ${at + 1}`}
              radius="md"
            />
          ))}
        </SimpleGrid>
      )}
    </OneCall>
  );
}

/** By the first bytes, in base64. */
function mediaTypeOf(image: string): string {
  if (image.startsWith('/9j/')) return 'image/jpeg';
  if (image.startsWith('UklGR')) return 'image/webp';
  return image.startsWith('PHN2Zy') || image.startsWith('PD94') ? 'image/svg+xml' : 'image/png';
}
