// Packages that only warm processes need, as a separate bundle (build.js).
export { client, methods, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
