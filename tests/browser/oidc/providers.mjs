// Two providers of OpenID Connect that others wrote, for one client:
//
//   node providers.mjs REDIRECT_URI
//
// The first is `oidc-provider`, with its own pages for sign-in and consent. A login is an address,
// and the user has it. The second is `oauth2-mock-server`, which signs everybody in at once, as
// mock@mock.example. Their ports are free ones. A line of JSON tells the issuers.
import { createServer } from "node:http";

import { OAuth2Server } from "oauth2-mock-server";
import Provider from "oidc-provider";

const [callback] = process.argv.slice(2);
const HOST = "localhost";

const accountOf = (ctx, id) => ({
  accountId: id,
  claims: () => ({ sub: id, email: id, email_verified: true, name: "Person", groups: ["mail"] }),
});

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, HOST, () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

async function startProvider() {
  const port = await freePort();
  const issuer = `http://${HOST}:${port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "postfinch",
        client_secret: "a client's secret: +/%", // pragma: allowlist secret
        redirect_uris: [callback],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
    findAccount: accountOf,
    cookies: { keys: ["only for tests"] },
  });
  // Its own pages load a font of another host
  provider.use(async (ctx, next) => {
    await next();
    if (typeof ctx.body === "string") ctx.body = ctx.body.replace(/@import [^;]*;/g, "");
  });
  provider.listen(port, HOST);
  return issuer;
}

async function startMock() {
  const server = new OAuth2Server();
  await server.issuer.keys.generate("ES256");
  server.service.on("beforeTokenSigning", (token) => {
    Object.assign(token.payload, {
      sub: "mock",
      email: "mock@mock.example",
      email_verified: true,
      amr: ["pwd", "mfa"],
    });
  });
  await server.start(0, HOST);
  return server.issuer.url;
}

console.log(JSON.stringify({ provider: await startProvider(), mock: await startMock() }));
