# A Homebrew formula. Nothing has been released yet: `url` is where npm will have the package, and `sha256` is that of
# no file. After a release: curl --location <url> | shasum -a 256
class Crosstalk < Formula
  desc "Message bus for agent CLIs on several machines; git is the bus"
  homepage "https://github.com/cordfuse/crosstalk"
  url "https://registry.npmjs.org/@cordfuse/crosstalk/-/crosstalk-6.0.0.tgz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "MIT"

  depends_on "git"
  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec/"bin/crosstalk"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/crosstalk --version")
    system bin/"crosstalk", "init", "team", "--alias", "here", "--cli", "echo works"
    system bin/"crosstalk", "send", "--transport", "team", "--to", "concierge", "hello"
    system bin/"crosstalk", "dispatch", "--transport", "team", "--once"
    assert_match "works", shell_output("grep -r works team/data")
  end
end
