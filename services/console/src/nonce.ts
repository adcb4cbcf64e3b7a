// The nonce of this page's Content-Security-Policy: only styles that have it apply.
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

/** For libraries that create `<style>` elements without asking for a nonce: dialogs, the terminal. */
export function giveStylesTheNonce(): void {
  const create = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const element = create(name, options);
    if (name === 'style') element.nonce = nonce;
    return element;
  }) as typeof document.createElement;
}
