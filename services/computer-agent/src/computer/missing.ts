/** For `catch` of a look at a path: null when nothing is there. @throws any other error: it says nothing about that */
export function nullWhenMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
