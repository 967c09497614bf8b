// Packages that only a machine with a bell needs, as a separate bundle (build.js).
export { connect, credsAuthenticator, ProtocolHandler } from '@nats-io/transport-node';
