require_relative "storm"

class Split < Storm::Bolt
  def once
    File.open("crashed", File::CREAT | File::EXCL).close
    true
  rescue SystemCallError
    false
  end

  def process(tup)
    line, n = tup.values
    raise "on purpose" if n == 7 && once
    line.split(" ").each { |word| emit [word], :anchor => tup }
    ack tup
  end
end

Split.new.run
