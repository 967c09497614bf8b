// The packages that only `crosstalk web` needs, as a separate bundle (build.js).
export { createAdaptorServer } from '@hono/node-server';
export { Hono } from 'hono';
export { compress } from 'hono/compress';
export { Counter, Gauge, Registry } from 'prom-client';
