import { expect, test } from 'vitest';
import { readNatsUrl, withCredentials } from './nats-url.ts';

test('a user in the URL is taken out of it', () => {
  expect(readNatsUrl('nats://edge:p%40ss:word@a:4222,tls://b:4222')).toEqual({
    servers: ['nats://a:4222', 'tls://b:4222'],
    credentials: { user: 'edge', password: 'p@ss:word' },
    tls: true,
  });
  const plain = { servers: ['127.0.0.1:4222'], credentials: undefined, tls: false };
  expect(readNatsUrl('127.0.0.1:4222')).toEqual(plain);
});

test('credentials put into a URL are read from it again, for each server', () => {
  const credentials = { user: 'host_x', password: 'a:b@c/d' };
  const url = withCredentials('nats://other:user@a:1,b:2', credentials);
  expect(readNatsUrl(url)).toEqual({ servers: ['nats://a:1', 'nats://b:2'], credentials, tls: false });
});

test('a user or password that is not encoded for a URL is named by the setting, and not shown', () => {
  const read = () => readNatsUrl('nats://edge:100%@a:4222');
  expect(read).toThrow('NATS_URL: the user or password is not encoded for a URL. Write % as %25.');
});
