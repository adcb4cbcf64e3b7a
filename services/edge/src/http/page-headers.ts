// Headers of our HTML pages: a page loads and runs only what its policy names, and cannot be framed.

/** @param sources further sources that the page may load, as directives of a Content-Security-Policy */
export function pageHeaders(sources: string): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  };
}
